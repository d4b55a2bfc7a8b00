"""Coarse to fine: against single scales one by one, and stopped and restored anywhere."""

import io
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import torch
from two_layers import choices, images, small_backbone

from triptych.style.data.images import enlarged, resize, resize_to
from triptych.style.optimise.gatys import Optimisation, optimise
from triptych.style.optimise.scales import (
    MARGIN,
    CoarseToFine,
    Scale,
    equal_scales,
    refining,
    scales,
    with_margin,
    without_margin,
)

CONTENTS = images(2, height=40, width=32)
PAINTING = images(1, seed=2, height=50, width=60)[0]
COARSE = choices(optimizer="adam", learning_rate=0.03)


def run(
    through: list[Scale], begun: torch.Tensor = CONTENTS, paintings: Sequence[torch.Tensor] = ()
) -> CoarseToFine:
    given = (CONTENTS, begun, paintings or [PAINTING], small_backbone(), COARSE, through)
    return CoarseToFine(*given, stroke=1.0, finest=refining(COARSE))


def advance(training: CoarseToFine, steps: int) -> None:
    """As the training loop does."""
    for _ in range(steps):
        if training.evaluation_due:
            training.evaluate()
        training.step()
    if training.evaluation_due:
        training.evaluate()


@pytest.mark.parametrize("stop", [0, 3, 6, 8, 12])
def test_a_restored_batch_goes_on_to_the_bit(stop):
    """In either scale, between them, and at the end."""
    unbroken, first, second = (run(scales([6, 6])) for _ in range(3))
    advance(unbroken, 12)
    advance(first, stop)
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    second.restore(torch.load(file, weights_only=True))
    assert second.done == stop
    advance(second, 12 - stop)
    assert second.done == 12 and torch.equal(second.images, unbroken.images)


def test_each_scale_is_half_the_next_ones_size():
    assert scales([90, 60, 30]) == [Scale(0.25, 90), Scale(0.5, 60), Scale(1, 30)]
    assert Scale(0.25, 1).shape(200, 301) == (50, 75)
    assert equal_scales(3, 8) == scales([3, 3, 2]) and equal_scales(1, 8) == [Scale(1, 8)]


def test_a_margin_is_the_reflection_and_comes_off_again():
    wide = with_margin(CONTENTS)
    expected = np.pad(CONTENTS.numpy(), ((0, 0), (0, 0), (MARGIN,) * 2, (MARGIN,) * 2), "reflect")
    np.testing.assert_array_equal(wide.numpy(), expected)
    assert torch.equal(without_margin(wide, 40, 32), CONTENTS)
    assert with_margin(CONTENTS[..., :5, :]).shape[2:] == (5 + 2 * 4, 32 + 2 * 4)


def test_each_image_has_its_own_painting_and_the_history_goes_through_all_scales():
    other = images(1, seed=3, height=44, width=44)[0]
    both, alone = run(scales([4, 3]), paintings=[PAINTING, other]), run(scales([4, 3]))
    for training in (both, alone):
        while not training.finished:
            training.advance()
    first, second = (training.result() for training in (both, alone))
    torch.testing.assert_close(first.images[0], second.images[0])
    assert not torch.allclose(first.images[1], second.images[1], atol=0.01)
    assert first.history.groupby("image")["evaluation"].apply(list).tolist() == [[*range(1, 8)]] * 2
    assert first.evaluations_done == [7, 7]
    coarse = Optimisation(
        list(resize_to(CONTENTS, 20, 16)),
        [resize(PAINTING, 16), resize(other, 16)],
        small_backbone(),
        COARSE,
        4,
    )
    while not coarse.finished:
        coarse.advance()
    columns = ["image", "evaluation", "total"]
    begun = first.history[first.history["evaluation"] <= 4][columns]
    pd.testing.assert_frame_equal(
        begun.reset_index(drop=True), coarse.result().history[columns], rtol=1e-5
    )


def test_each_scale_begins_from_the_one_before_with_the_detail_of_what_it_began_from():
    begun = images(2, seed=5, height=40, width=32)
    training = run(scales([10, 1]), begun=begun)  # the second evaluates, and does not move
    advance(training, 10)
    painting, small = resize(PAINTING, 16), resize_to(CONTENTS, 20, 16)
    start = resize_to(begun, 20, 16)
    one = Optimisation(
        list(small),
        [painting] * 2,
        small_backbone(),
        COARSE,
        10,
        start.clone(),
    )
    while not one.finished:
        one.advance()
    coarse = one.result().images
    assert torch.equal(training.images, coarse)
    advance(training, 1)
    assert torch.equal(training.images, enlarged(coarse, start, begun))


def test_the_finest_scale_is_refined_by_lbfgs_and_one_alone_is_not():
    training = run(scales([10, 8]))
    advance(training, 10)
    start = enlarged(training.images, resize_to(CONTENTS, 20, 16), CONTENTS)
    advance(training, 8)
    painting = resize(PAINTING, 32)
    for by, equal in ((refining(COARSE), True), (COARSE, False)):
        one = Optimisation(list(CONTENTS), [painting] * 2, small_backbone(), by, 8, start.clone())
        while not one.finished:
            one.advance()
        assert torch.equal(one.result().images, training.images) is equal
    alone = run(scales([8]))
    advance(alone, 8)
    found = optimise(CONTENTS, painting[None], small_backbone(), COARSE, 8).images
    assert torch.equal(alone.images, found)

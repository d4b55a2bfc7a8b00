"""Coarse to fine: against single scales one by one, and stopped and restored anywhere."""

import io

import pytest
import torch
from two_layers import choices, images, small_backbone

from triptych.style.data.images import enlarged, resize, resize_to
from triptych.style.optimise.gatys import Optimisation, optimise
from triptych.style.optimise.scales import CoarseToFine, Scale, refining, scales

CONTENTS = images(2, height=40, width=32)
PAINTING = images(1, seed=2, height=50, width=60)[0]
COARSE = choices(optimizer="adam", learning_rate=0.03)


def run(through: list[Scale], begun: torch.Tensor = CONTENTS) -> CoarseToFine:
    given = (CONTENTS, begun, [PAINTING], small_backbone(), COARSE, through)
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

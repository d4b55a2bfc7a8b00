"""Optimised images: against PyTorch's optimisers, side by side, stopped, started and resumed."""

import io
import itertools
import math

import pandas as pd
import pytest
import torch
from torch import Tensor
from two_layers import choices, images, small_backbone

from triptych.style.optimise import gatys
from triptych.style.optimise.choices import Choices
from triptych.style.optimise.gatys import Optimisation, initial_images, optimise
from triptych.style.optimise.objective import Objective, Terms

CONTENTS, PAINTINGS = images(3), images(3, seed=2, height=9, width=14)

OPTIMIZERS = {
    "lbfgs": choices(),
    "adam": choices(optimizer="adam", learning_rate=0.02),
    "sgd": choices(optimizer="sgd", learning_rate=1e-5, momentum=0.8),
}


def of_torch(image: Tensor, chosen: Choices) -> torch.optim.Optimizer:
    if chosen.optimizer == "adam":
        return torch.optim.Adam([image], lr=chosen.learning_rate)
    if chosen.optimizer == "sgd":
        return torch.optim.SGD([image], lr=chosen.learning_rate, momentum=chosen.momentum)
    return torch.optim.LBFGS(
        [image], max_iter=1, history_size=chosen.history, tolerance_change=0, tolerance_grad=0
    )


@pytest.mark.parametrize("chosen", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_each_image_goes_as_with_pytorchs_optimizer_alone(chosen):
    found = optimise(CONTENTS, PAINTINGS, small_backbone(), chosen, 25)
    for number in range(3):
        objective = Objective(small_backbone(), chosen, [CONTENTS[number]], [PAINTINGS[number]])
        image = CONTENTS[number][None].clone().requires_grad_()
        optimizer = of_torch(image, chosen)
        totals: list[float] = []

        def closure(
            objective: Objective = objective,
            image: Tensor = image,
            optimizer: torch.optim.Optimizer = optimizer,
            totals: list[float] = totals,
        ) -> Tensor:
            optimizer.zero_grad()
            total = objective.terms(image).total.sum()
            totals.append(total.item())
            loss = total * image.numel()
            loss.backward()
            return loss

        for _ in range(25):
            before = image.detach().clone()
            optimizer.step(closure)
        history = found.history[found.history["image"] == number]
        assert history["total"].tolist() == pytest.approx(totals, rel=1e-6)
        torch.testing.assert_close(found.images[number], before[0].clamp(0, 1), rtol=0, atol=1e-7)


@pytest.mark.parametrize("chosen", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_poisoned_image_stops_and_the_others_go_on_as_without_it(chosen):
    poisoned = CONTENTS.clone()
    poisoned[1, 0, 3, 3] = math.nan
    found = optimise(poisoned, PAINTINGS, small_backbone(), chosen, 20)
    sound = optimise(CONTENTS[[0, 2]], PAINTINGS[[0, 2]], small_backbone(), chosen, 20)
    assert found.statuses == ["finished", "not_finite", "finished"]
    assert found.reasons == ["", "its loss was not finite at evaluation 1", ""]
    assert found.evaluations_done == [20, 1, 20]
    assert found.images.isfinite().all()
    torch.testing.assert_close(found.images[[0, 2]], sound.images, rtol=0, atol=1e-9)


def test_a_diverging_image_stops_with_a_reason_and_its_best_state(monkeypatch):
    terms, calls = Objective.terms, itertools.count(1)

    def spoiled(self: Objective, batch: Tensor, part: slice = slice(None)) -> Terms:
        found = terms(self, batch, part)
        if next(calls) >= 10 and len(batch) > 2:
            found.content[2] += 1e6
        return found

    monkeypatch.setattr(Objective, "terms", spoiled)
    found = optimise(CONTENTS, PAINTINGS, small_backbone(), choices(), 40)
    assert found.statuses == ["finished", "finished", "diverged"]
    assert found.reasons[2] == (
        "its loss was more than 100 times its lowest for 20 evaluations, up to evaluation 29"
    )
    assert found.evaluations_done == [40, 40, 29]
    monkeypatch.undo()
    lowest = optimise(CONTENTS, PAINTINGS, small_backbone(), choices(), 9)
    torch.testing.assert_close(found.images[2], lowest.images[2], rtol=0, atol=1e-9)


@pytest.mark.parametrize("chosen", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_restored_batch_goes_on_to_the_bit(chosen):
    poisoned = CONTENTS.clone()
    poisoned[0, 0, 0, 0] = math.inf  # so that an image has been dropped before the save
    arguments = (list(poisoned), list(PAINTINGS), small_backbone(), chosen, 20)
    unbroken, first, second = (Optimisation(*arguments) for _ in range(3))
    _advance(unbroken, 20)
    _advance(first, 9)
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    second.restore(torch.load(file, weights_only=True))
    _advance(second, 11)
    assert second.finished
    expected, found = unbroken.result(), second.result()
    assert torch.equal(found.images, expected.images)
    columns = [name for name in gatys.HISTORY if name != "seconds"]
    pd.testing.assert_frame_equal(found.history[columns], expected.history[columns])
    assert found.reasons == expected.reasons


def _advance(optimisation: Optimisation, evaluations: int) -> None:
    for _ in range(evaluations):
        optimisation.advance()


def test_initial_images_are_content_noise_or_the_scaled_painting():
    contents, paintings = list(CONTENTS), list(PAINTINGS)
    start = initial_images(contents, paintings, choices())
    assert torch.equal(start, CONTENTS)
    noise = initial_images(contents, paintings, choices(initialisation="noise"))
    assert torch.equal(noise[0], noise[2])
    assert torch.equal(noise, initial_images(contents, paintings, choices(initialisation="noise")))
    assert float(noise.mean()) == pytest.approx(0.5, abs=0.05)
    style = initial_images(contents, paintings, choices(initialisation="style"))
    assert style.shape == CONTENTS.shape
    assert float(style.mean()) == pytest.approx(float(PAINTINGS.mean()), abs=0.02)


def test_objective_is_a_weighted_sum_of_the_losses():
    plain = Objective(small_backbone(), choices(), list(CONTENTS), list(PAINTINGS))
    heavy = Objective(
        small_backbone(),
        choices(content_weight=0.6, style_weight=5.0, total_variation_weight=0.7),
        list(CONTENTS),
        list(PAINTINGS),
    )
    there = images(3, seed=9)
    first, second = plain.terms(there), heavy.terms(there)
    torch.testing.assert_close(second.content, 2 * first.content)
    torch.testing.assert_close(second.style, 5 * first.style)
    torch.testing.assert_close(second.total_variation, 7 * first.total_variation)

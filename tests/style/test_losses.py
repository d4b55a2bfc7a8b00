"""Style and content losses against closed forms, PyTorch's own losses and finite differences."""

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.losses import (
    Scaling,
    content_term,
    gram_matrix,
    position_gram,
    style_term,
    total_variation,
)
from triptych.style.optimise.choices import load, methods

CONTENT_LOSSES = [*methods("content_losses")]


def features(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def content(drawn: Tensor, target: Tensor, kind: str, scaling: Scaling) -> Tensor:
    loss = load("content_losses", kind)
    factor = getattr(loss, "EQUATION_FACTOR", 1.0)
    return content_term(drawn, target, loss.differences, scaling, factor)


def test_gram_matrix_is_equation_4():
    values = features(2, 3, 4, 5)
    expected = torch.zeros(2, 3, 3, dtype=torch.float64)
    for image in range(2):
        for i in range(3):
            for j in range(3):
                expected[image, i, j] = (values[image, i] * values[image, j]).sum()
    torch.testing.assert_close(gram_matrix(values), expected)


def test_style_term_is_equation_3_for_images_of_one_size():
    drawn, painted = features(2, 3, 4, 5), features(2, 3, 4, 5, seed=1)
    filters, positions = 3, 20
    squares = (gram_matrix(drawn) - gram_matrix(painted)).square().sum((1, 2))
    expected = squares / (4 * filters**2 * positions**2)
    torch.testing.assert_close(
        style_term(position_gram(drawn), position_gram(painted), "equation"), expected
    )


def test_mean_style_term_is_the_notebooks():
    drawn, painted = features(1, 3, 4, 5), features(1, 3, 4, 5, seed=1)
    expected = functional.mse_loss(gram_matrix(drawn) / 60, gram_matrix(painted) / 60)
    found = style_term(position_gram(drawn), position_gram(painted), "mean")
    torch.testing.assert_close(found[0], expected)


def test_content_term_is_equation_1():
    drawn, target = features(2, 3, 4, 5), features(2, 3, 4, 5, seed=1)
    expected = 0.5 * (drawn - target).square().sum((1, 2, 3))
    torch.testing.assert_close(content(drawn, target, "mse", "equation"), expected)


REFERENCES: dict[str, Callable[..., Tensor]] = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "smooth_l1": functional.smooth_l1_loss,
    "huber": functional.huber_loss,
}


@pytest.mark.parametrize("kind", CONTENT_LOSSES)
def test_mean_content_terms_are_pytorchs_for_every_image(kind):
    drawn, target = 2 * features(3, 2, 4, 4), features(1, 2, 4, 4, seed=1)
    expected = torch.stack([REFERENCES[kind](image, target[0]) for image in drawn])
    found = content(drawn, target, kind, "mean")
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("scaling", get_args(Scaling))
@pytest.mark.parametrize("kind", CONTENT_LOSSES)
def test_gradients_agree_with_finite_differences(kind, scaling):
    target, painting = features(1, 2, 3, 4, seed=1), features(1, 2, 5, 3, seed=2)

    def loss(drawn: Tensor) -> Tensor:
        return content(drawn, target, kind, scaling) + style_term(
            position_gram(drawn),
            position_gram(painting),
            scaling,
        )

    assert torch.autograd.gradcheck(loss, (2 * features(2, 2, 3, 4).requires_grad_(),))


def test_total_variation_of_a_ramp_and_a_checkerboard():
    ramp = (torch.arange(5.0) * 0.1).expand(1, 3, 4, 5)
    assert float(total_variation(ramp)) == pytest.approx(0.01)
    checks = (torch.arange(4)[:, None] + torch.arange(5)) % 2
    assert float(total_variation(checks.expand(1, 3, 4, 5).float())) == pytest.approx(2)

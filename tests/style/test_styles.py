"""Styles of several paintings and masks: against sums of losses, canvases and halves."""

import pytest
import torch
from torch import Tensor
from two_layers import choices, images, small_backbone

from triptych.style.losses import position_gram
from triptych.style.optimise.objective import Objective
from triptych.style.optimise.styles import Painting, Style, guide, style_targets

CONTENT, OTHER = images(2)
FIRST, SECOND = images(2, seed=2, height=9, width=14)
STYLE_ALONE = {"content_weight": 0.0, "total_variation_weight": 0.0}


def as_they_are(image: Tensor, mask: Tensor | None) -> list[Tensor]:
    """Of a layer that is the image itself."""
    guided = image if mask is None else image * guide(mask, image.shape[2:])
    return [position_gram(guided)[0]]


def half(height: int, width: int) -> Tensor:
    """White on the left."""
    mask = torch.ones(1, height, width, dtype=torch.float64)
    mask[..., width // 2 :] = 0
    return mask


def style_and_gradient(style: Style, image: Tensor, **changes) -> tuple[float, Tensor]:
    objective = Objective(small_backbone(), choices(**STYLE_ALONE, **changes), [CONTENT], [style])
    leaf = image[None].clone().requires_grad_()
    loss = objective.terms(leaf).style.sum()
    return loss.item(), torch.autograd.grad(loss, leaf)[0][0]


@pytest.mark.parametrize("scaling", ["equation", "mean"])
def test_a_mixture_has_the_gradient_of_the_weighted_losses(scaling):
    mixture = [Painting(FIRST, 3.0), Painting(SECOND, 1.0)]
    differences = []
    for image in (CONTENT, OTHER):
        mixed, gradient = style_and_gradient(mixture, image, scaling=scaling)
        one, first = style_and_gradient(FIRST, image, scaling=scaling)
        other, second = style_and_gradient(SECOND, image, scaling=scaling)
        torch.testing.assert_close(gradient, 0.75 * first + 0.25 * second)
        assert not torch.allclose(gradient, first, rtol=0.01)
        differences.append(0.75 * one + 0.25 * other - mixed)
    assert differences[0] == pytest.approx(differences[1], rel=1e-9) and differences[0] > 0


def test_a_mixture_is_a_canvas_of_which_each_painting_covers_its_share():
    canvas = torch.cat([FIRST, SECOND[..., :7], SECOND[..., 7:], FIRST], 2)[None]
    (target,) = style_targets([Painting(FIRST, 4.0), Painting(SECOND, 2.0)], as_they_are)
    torch.testing.assert_close(target, position_gram(canvas)[0])


def test_a_guided_gram_matrix_is_that_of_the_masked_part():
    left = half(9, 14)
    found = position_gram(FIRST[None] * guide(left, (9, 14)))
    torch.testing.assert_close(found, position_gram(FIRST[None, :, :, :7]))
    # A layer of fewer positions sees the mask averaged: one column of the seven is half in it.
    coarse = torch.nn.functional.avg_pool2d(FIRST[None, :, :8], 2)
    shares = torch.tensor([1, 1, 1, 0.5, 0, 0, 0]).double() ** 2
    expected = torch.einsum("nihw,njhw,w->nij", coarse, coarse, shares) / (4 * shares.sum())
    torch.testing.assert_close(position_gram(coarse * guide(half(8, 14), (4, 7))), expected)
    (target,) = style_targets([Painting(FIRST, mask=left)], as_they_are)
    torch.testing.assert_close(target, position_gram(FIRST[None, :, :, :7])[0])


def test_a_painting_and_its_mask_are_scaled_along_the_shorter_side():
    scaled = Painting(FIRST, 2.0, mask=half(9, 14)).at(18, 24, scale=1.5)
    assert scaled.image.shape == (3, 27, 42) and scaled.mask.shape == (1, 27, 42)
    assert scaled.weight == 2

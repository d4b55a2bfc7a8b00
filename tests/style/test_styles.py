"""Styles of several paintings and of regions: against sums of losses, canvases and halves."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from two_layers import choices, images, small_backbone

from triptych.style.losses import position_gram
from triptych.style.optimisation.gatys import optimise
from triptych.style.optimisation.objective import Objective
from triptych.style.optimisation.styles import Painting, Style, guide, parts_of

CONTENT, OTHER = images(2)
FIRST, SECOND = images(2, seed=2, height=9, width=14)
STYLE_ALONE = {"content_weight": 0.0, "total_variation_weight": 0.0}


def as_they_are(image: Tensor, mask: Tensor | None) -> list[Tensor]:
    """Of a layer that is the image itself."""
    guided = image if mask is None else image * guide(mask, image.shape[2:])
    return [position_gram(guided)[0]]


def half(height: int, width: int, right: bool = False) -> Tensor:
    """White on the left, or on the right."""
    mask = torch.zeros(1, height, width, dtype=torch.float64)
    mask[..., width // 2 :] = 1
    return mask if right else 1 - mask


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
    (part,) = parts_of([Painting(FIRST, 4.0), Painting(SECOND, 2.0)], as_they_are)
    torch.testing.assert_close(part.targets[0], position_gram(canvas)[0])
    assert part.weight == 1 and part.region is None


def test_one_painting_is_the_plain_style_to_the_bit():
    for style in ([Painting(FIRST)], [Painting(FIRST, 7.0)]):
        loss, gradient = style_and_gradient(style, OTHER)
        expected, plain = style_and_gradient(FIRST, OTHER)
        assert loss == expected and torch.equal(gradient, plain)


def test_a_guided_gram_matrix_is_that_of_the_masked_part():
    left = half(9, 14)
    found = position_gram(FIRST[None] * guide(left, (9, 14)))
    torch.testing.assert_close(found, position_gram(FIRST[None, :, :, :7]))
    # A layer of fewer positions sees the mask averaged: one column of the seven is half in it.
    coarse = torch.nn.functional.avg_pool2d(FIRST[None, :, :8], 2)
    shares = torch.tensor([1, 1, 1, 0.5, 0, 0, 0]).double() ** 2
    expected = torch.einsum("nihw,njhw,w->nij", coarse, coarse, shares) / (4 * shares.sum())
    torch.testing.assert_close(position_gram(coarse * guide(half(8, 14), (4, 7))), expected)
    part = parts_of([Painting(FIRST, mask=left)], as_they_are)[0]
    torch.testing.assert_close(part.targets[0], position_gram(FIRST[None, :, :, :7])[0])


def test_regions_of_one_weight_pull_each_pixel_alike():
    quarter = torch.zeros(1, 12, 12, dtype=torch.float64)
    quarter[..., :3] = 1
    style = [Painting(FIRST, region=quarter), Painting(SECOND, region=1 - quarter)]
    parts = parts_of(style, as_they_are)
    assert [part.weight for part in parts] == pytest.approx([0.25, 0.75])
    style = [replace(style[0], weight=3.0), style[1]]
    one, other = parts_of(style, as_they_are)
    assert one.weight / 0.25 == pytest.approx(3 * other.weight / 0.75)
    assert one.weight + other.weight == pytest.approx(1)


def test_a_painting_pulls_in_its_region_only():
    _, gradient = style_and_gradient([Painting(FIRST, region=half(12, 10))], OTHER)
    # Two convolutions and a pooling between them see 4 pixels to each side, or less.
    assert gradient[..., 9:].abs().max() == 0
    assert gradient[..., :5].abs().min() > 0


def test_the_halves_of_an_image_take_after_their_paintings():
    sides = [half(24, 20), half(24, 20, right=True)]
    style = [
        Painting(image, region=side) for image, side in zip((FIRST, SECOND), sides, strict=True)
    ]
    content = images(1, height=24, width=20)
    backbone, chosen = small_backbone(), choices(**STYLE_ALONE)
    found = optimise(content, [style], backbone, chosen, 60, seeds=[0]).images
    for part, own, other in (
        (found[..., :10], FIRST, SECOND),
        (found[..., 10:], SECOND, FIRST),
    ):
        near, far = (
            float(Objective(backbone, chosen, [part[0]], [painting]).terms(part).style)
            for painting in (own, other)
        )
        assert near < 0.3 * far


def test_rows_of_a_batch_have_paintings_of_their_own_within_one_set_of_regions():
    sides = [half(12, 10), half(12, 10, right=True)]
    pairs = [(FIRST, SECOND), (1 - FIRST, SECOND.flip(0))]
    styles = [
        [Painting(image, region=side) for image, side in zip(pair, sides, strict=True)]
        for pair in pairs
    ]
    together = Objective(small_backbone(), choices(), [CONTENT, OTHER], styles)
    there = images(2, seed=9)
    found = together.terms(there)
    for row, content in enumerate((CONTENT, OTHER)):
        alone = Objective(small_backbone(), choices(), [content], [styles[row]])
        torch.testing.assert_close(found.total[row : row + 1], alone.terms(there[[row]]).total)
    together.keep([1])
    torch.testing.assert_close(together.terms(there[[1]]).total, found.total[1:])


def test_a_painting_is_scaled_along_its_shorter_side_and_its_region_to_the_image():
    given = Painting(FIRST, 2.0, mask=half(9, 14), region=half(30, 40))
    scaled = given.at(18, 24, scale=1.5)
    assert scaled.image.shape == (3, 27, 42) and scaled.mask.shape == (1, 27, 42)
    assert scaled.region.shape == (1, 18, 24) and scaled.weight == 2

"""A photograph in a painting's colours."""

from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.style.data.images import luma

LIGHTNESSES = 64
"""Steps in which a picture's colours are ordered."""

NOISE = 0.015
"""Standard deviation of a grey photograph's hues, which are noise and stay faint. In [0, 1]."""


@dataclass(frozen=True)
class Colours:
    """A picture's colours."""

    scale: Tensor
    """From dark to light, [LIGHTNESSES, 3]: means of equal parts."""
    spread: Tensor
    """Covariance of what a colour differs by from its part's mean, [3, 3]."""


def in_colours_of(photograph: Tensor, painting: Tensor) -> Tensor:
    """The photograph [3, H, W] in the painting's colours, [3, h, w], as light where it is light.

    A lightness has the mean colour that the painting has at that place in the order of its own
    lightness; the photograph's is stretched, but for its darkest and lightest hundredths. Where a
    photograph's colour differs from what its lightness has on average (a red boat on grey water),
    so it does here, by the linear map that gives these differences the painting's covariance and
    moves them least (Pitie and Kokaram 2007, "The linear Monge-Kantorovitch linear colour
    mapping"). Cut to [0, 1].
    """
    return recoloured(photograph, colours_of(painting))


def colours_of(picture: Tensor) -> Colours:
    """Those of a picture [3, H, W] in [0, 1]."""
    scale, differences = _parts(picture)
    return Colours(scale, torch.cov(differences.double(), correction=0))


def recoloured(photograph: Tensor, painting: Colours) -> Tensor:
    """The photograph [3, H, W] in colours, as `in_colours_of` has it."""
    lightness = luma(photograph)
    darkest, lightest = lightness.flatten().quantile(torch.tensor([0.01, 0.99]).to(lightness))
    place = (lightness - darkest) / (lightest - darkest).clamp_min(0.25)
    place = place.clamp(0, 1) * (LIGHTNESSES - 1)
    below = place.long().clamp_max(LIGHTNESSES - 2)
    share = (place - below)[..., None]
    scale = painting.scale
    means = (scale[below] * (1 - share) + scale[below + 1] * share).permute(2, 0, 1)
    differences = _parts(photograph)[1].double()
    spread = torch.cov(differences, correction=0) + NOISE**2 * torch.eye(3).to(differences)
    moved = _monge(spread, painting.spread) @ differences
    return (means + moved.view_as(photograph).to(means)).clamp(0, 1)


def square_root(covariance: Tensor, least: float = 0.0) -> Tensor:
    """The symmetric square root of a covariance matrix, its variances at least so large."""
    values, axes = torch.linalg.eigh(covariance)
    return axes @ torch.diag(values.clamp_min(least).sqrt()) @ axes.mT


def _parts(picture: Tensor) -> tuple[Tensor, Tensor]:
    """Mean colours of LIGHTNESSES equal parts, and each pixel's difference from its part's."""
    colours = picture.flatten(1)
    order = luma(picture).flatten().argsort(stable=True)
    parts = colours[:, order].tensor_split(LIGHTNESSES, 1)
    scale = torch.stack([part.mean(1) for part in parts])
    differences = torch.empty_like(colours)
    each = [part - mean[:, None] for part, mean in zip(parts, scale, strict=True)]
    differences[:, order] = torch.cat(each, 1)
    return scale, differences


def _monge(given: Tensor, wanted: Tensor) -> Tensor:
    """The symmetric matrix that gives values of one covariance the other, moving them least."""
    root = square_root(given)
    inverse = torch.linalg.inv(root)
    return inverse @ square_root(root @ wanted @ root) @ inverse

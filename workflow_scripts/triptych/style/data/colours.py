"""A photograph in a painting's colours."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.style.data.image_files import luma

LIGHTNESSES = 64
"""Steps in which a picture's colours are ordered."""

NOISE = 0.015
"""Standard deviation of a grey photograph's hues, which are noise and stay faint. In [0, 1]."""


@dataclass(frozen=True)
class Colours:
    """Colours of N pictures."""

    scale: Tensor
    """Means of equal parts from dark to light, [N, LIGHTNESSES, 3]."""
    spread: Tensor
    """Covariance of what a colour differs by from its part's mean, [N, 3, 3]; float64."""

    def __getitem__(self, pictures: Tensor) -> "Colours":
        return Colours(self.scale[pictures], self.spread[pictures])


def in_colours_of(photograph: Tensor, painting: Tensor) -> Tensor:
    """The photograph [3, H, W] in the painting's colours, [3, h, w], as light where it is light.

    A lightness has the mean colour that the painting has at that place in the order of its own
    lightness; the photograph's is stretched, but for its darkest and lightest hundredths. Where a
    photograph's colour differs from what its lightness has on average (a red boat on grey water),
    so it does here, by the linear map that gives these differences the painting's covariance and
    moves them least (Pitie and Kokaram 2007, "The linear Monge-Kantorovitch linear colour
    mapping"). Cut to [0, 1].
    """
    return recoloured(photograph[None], colours_of([painting]))[0]


def with_moments_of(image: Tensor, painting: Tensor) -> Tensor:
    """The image [3, H, W], its colours moved to the painting's mean and covariance by the linear
    map that moves them least (as `in_colours_of`), and cut to [0, 1]."""
    source, target = image.flatten(1).double(), painting.flatten(1).double()
    means = [colours.mean(1, keepdim=True) for colours in (source, target)]
    apart = source - means[0]
    spreads = [
        _covariance(differences).cpu() + NOISE**2 * torch.eye(3)
        for differences in (apart, target - means[1])
    ]
    moved = _monge(*spreads).to(source) @ apart + means[1]
    return moved.view_as(image).to(image).clamp(0, 1)


def colours_of(pictures: Sequence[Tensor]) -> Colours:
    """Colours of pictures [3, H, W] in [0, 1], which may differ in size."""
    parts = [_parts(picture[None]) for picture in pictures]
    scales = [scale for scale, _ in parts]
    spreads = [_covariance(differences) for _, differences in parts]
    return Colours(torch.cat(scales), torch.cat(spreads))


def recoloured(photographs: Tensor, paintings: Colours, even: float = 0.0) -> Tensor:
    """Photographs [N, 3, H, W] in colours, one picture's each, as `in_colours_of` has it.

    even: share, from 0 to 1, by which lightnesses are spread to be as frequent as the picture's, so
    that a dark photograph gets its light colours, too.
    """
    lightness = luma(photographs).flatten(1)
    ends = torch.tensor([0.01, 0.99]).to(lightness)
    darkest, lightest = lightness.quantile(ends, 1)[..., None]
    place = (lightness - darkest) / (lightest - darkest).clamp_min(0.25)
    rank = lightness.argsort(dim=1, stable=True).argsort(dim=1) / max(lightness.shape[1] - 1, 1)
    place = ((1 - even) * place.clamp(0, 1) + even * rank) * (LIGHTNESSES - 1)
    below = place.long().clamp_max(LIGHTNESSES - 2)
    share = (place - below)[:, None]
    lower, upper = (
        paintings.scale.mT.gather(2, step[:, None].expand(-1, 3, -1)) for step in (below, below + 1)
    )
    differences = _parts(photographs)[1].double()
    spread = _covariance(differences) + NOISE**2 * torch.eye(3).to(differences)
    # Of nine numbers each: a GPU would take longer, and be waited for as long.
    maps = _monge(spread.cpu(), paintings.spread.cpu()).to(differences)
    moved = (maps @ differences).to(lower)
    return (lower * (1 - share) + upper * share + moved).clamp(0, 1).view_as(photographs)


def square_root(covariance: Tensor, least: float = 0.0) -> Tensor:
    """The symmetric square root of covariance matrices, their variances at least so large."""
    values, axes = torch.linalg.eigh(covariance)
    return axes @ torch.diag_embed(values.clamp_min(least).sqrt()) @ axes.mT


def _parts(pictures: Tensor) -> tuple[Tensor, Tensor]:
    """Mean colours of LIGHTNESSES parts of pictures [N, 3, H, W], equal but for a pixel, and each
    pixel's difference from its part's, [N, 3, HW]."""
    colours = pictures.flatten(2)
    order = luma(pictures).flatten(1).argsort(stable=True)[:, None].expand_as(colours)
    ordered = colours.gather(2, order)
    part = torch.arange(ordered.shape[2], device=ordered.device) * LIGHTNESSES // ordered.shape[2]
    sums = ordered.new_zeros(*ordered.shape[:2], LIGHTNESSES).index_add_(2, part, ordered)
    means = sums / part.bincount(minlength=LIGHTNESSES)
    differences = torch.empty_like(colours).scatter_(2, order, ordered - means[..., part])
    return means.mT, differences


def _covariance(differences: Tensor) -> Tensor:
    """Covariance of differences [..., 3, P] of mean zero: [..., 3, 3], float64."""
    differences = differences.double()
    return differences @ differences.mT / differences.shape[-1]


def _monge(source: Tensor, target: Tensor) -> Tensor:
    """Symmetric matrices that give values of one covariance the other, moving them least."""
    root = square_root(source)
    inverse = torch.linalg.inv(root)
    return inverse @ square_root(root @ target @ root) @ inverse

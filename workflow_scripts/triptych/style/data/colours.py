"""A photograph in a painting's colours."""

import torch
from torch import Tensor

from triptych.style.data.images import luma

LIGHTNESSES = 64
"""Steps in which a painting's colours are ordered."""


def by_lightness(photograph: Tensor, painting: Tensor) -> Tensor:
    """The photograph [3, H, W] in the painting's colours, [3, h, w], as light where it is light.

    A lightness has the mean colour that the painting has at that place in the order of its own
    lightness; the photograph's is stretched, but for its darkest and lightest hundredths.
    """
    return recoloured(photograph, scale_of(painting))


def scale_of(painting: Tensor) -> Tensor:
    """The painting's colours from dark to light, [LIGHTNESSES, 3]: means of equal parts."""
    colours = painting.flatten(1).T
    ordered = colours[luma(painting).flatten().argsort(stable=True)]
    return torch.stack([part.mean(0) for part in ordered.tensor_split(LIGHTNESSES)])


def recoloured(photograph: Tensor, scale: Tensor) -> Tensor:
    """The photograph [3, H, W] in the colours of a scale, as `by_lightness` has them."""
    lightness = luma(photograph)
    darkest, lightest = lightness.flatten().quantile(torch.tensor([0.01, 0.99]).to(lightness))
    place = (lightness - darkest) / (lightest - darkest).clamp_min(0.25)
    place = place.clamp(0, 1) * (LIGHTNESSES - 1)
    below = place.long().clamp_max(LIGHTNESSES - 2)
    share = (place - below)[..., None]
    return (scale[below] * (1 - share) + scale[below + 1] * share).permute(2, 0, 1)

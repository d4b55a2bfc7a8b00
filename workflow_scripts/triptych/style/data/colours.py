"""A painting in a photograph's colours, and the other way round."""

import torch
from torch import Tensor

from triptych.style.data.images import luma

LIGHTNESSES = 64
"""Steps in which a painting's colours are ordered."""

FLAT = 1e-6
"""Variance of a colour beneath which a painting has nothing to be stretched there."""


def matched(painting: Tensor, photograph: Tensor) -> Tensor:
    """The painting [3, h, w] with the mean and covariance of the photograph's colours, in [0, 1].

    A linear transform by symmetric square roots of the covariances (Gatys et al. 2016, "Preserving
    color in neural artistic style transfer"; 2017, section 5.2). What leaves [0, 1] is clamped.
    """
    mean, covariance = _moments(painting)
    wanted_mean, wanted = _moments(photograph)
    transform = _power(wanted, 0.5) @ _power(covariance, -0.5)
    flat = painting.double().flatten(1)
    moved = transform @ (flat - mean) + wanted_mean
    return moved.clamp_(0, 1).view(painting.shape).to(painting)


def by_lightness(photograph: Tensor, painting: Tensor) -> Tensor:
    """The photograph [3, H, W] in the painting's colours, [3, h, w], as light where it is light.

    A lightness has the mean colour that the painting has at that place in the order of its own
    lightness. The photograph's is stretched so that all but its darkest and lightest hundredths
    have room, up to four times.
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


def _moments(image: Tensor) -> tuple[Tensor, Tensor]:
    """Mean [3, 1] and covariance [3, 3] of an image's colours, in float64."""
    flat = image.double().flatten(1)
    return flat.mean(1, keepdim=True), torch.cov(flat, correction=0)


def _power(covariance: Tensor, exponent: float) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    return (vectors * values.clamp_min(FLAT) ** exponent) @ vectors.mT

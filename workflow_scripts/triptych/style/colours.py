"""A painting in a photograph's colours."""

import torch
from torch import Tensor

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


def _moments(image: Tensor) -> tuple[Tensor, Tensor]:
    """Of colours: mean [3, 1] and covariance [3, 3], in float64."""
    flat = image.double().flatten(1)
    return flat.mean(1, keepdim=True), torch.cov(flat, correction=0)


def _power(covariance: Tensor, exponent: float) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    return (vectors * values.clamp_min(FLAT) ** exponent) @ vectors.mT

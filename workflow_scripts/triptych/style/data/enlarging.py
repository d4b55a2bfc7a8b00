"""A small stylised image made as large as its photograph, with the photograph's own detail.

The guide is the photograph's luma, as of a guided filter (He, Sun and Tang 2013), which itself
would smooth away the strokes; so the image is enlarged as it is, and what detail the photograph has
beyond its own reduction is added, as strongly as the stylised image follows the photograph there.
"""

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.data.images import LUMA, resize_to

RADIUS = 3
"""Pixels of the small image on each side, within which it is compared with the photograph."""
FLAT = 1e-3
"""Variance of luma beneath which the photograph guides little: it would amplify noise."""


def _luma(images: Tensor) -> Tensor:
    """[..., 1, H, W] of [..., 3, H, W]."""
    red, green, blue = (images[..., channel : channel + 1, :, :] for channel in range(3))
    return red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]


def enlarged(stylised: Tensor, small: Tensor, photograph: Tensor) -> Tensor:
    """Stylised images [N, 3, h, w] at the size of `photograph` [N, 3, H, W], in [0, 1].

    `small` [N, 3, h, w] is what was stylised: the photograph, reduced.
    """
    height, width = photograph.shape[-2:]
    guide = _luma(small)
    detail = _luma(photograph) - resize_to(guide, height, width)
    large = torch.empty_like(photograph)
    for channel in range(3):  # one at a time: these are planes of the full size
        plane = stylised[:, channel : channel + 1]
        gain = resize_to(_gain(guide, plane), height, width)
        large[:, channel : channel + 1] = gain.mul_(detail).add_(resize_to(plane, height, width))
    return large.clamp_(0, 1)


def _gain(guide: Tensor, plane: Tensor) -> Tensor:
    """The slope of `plane` over `guide` around each pixel, [N, 1, h, w], in [0, 1].

    Detail is never stronger than in the photograph, and where a style inverts light and dark there
    is none.
    """
    mean = _mean(guide)
    covariance = _mean(guide * plane) - mean * _mean(plane)
    variance = _mean(guide * guide) - mean * mean
    return _mean((covariance / (variance.clamp_min(0) + FLAT)).clamp(0, 1))


def _mean(values: Tensor) -> Tensor:
    """Over a square around each pixel, as much of it as lies in the image."""
    return functional.avg_pool2d(
        values, 2 * RADIUS + 1, stride=1, padding=RADIUS, count_include_pad=False
    )

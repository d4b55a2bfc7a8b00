"""A small stylised image made as large as its photograph, with the photograph's own detail.

The image is enlarged as it is, and what detail the photograph's luma has beyond its own reduction
is added, as strongly as the stylised image follows it there (after the guided filter of He, Sun and
Tang 2013). No PyTorch.
"""

import numpy as np
from PIL import Image

from triptych.style.data.image_files import Planes, luma

RADIUS = 3
"""Pixels of the small image on each side, within which it is compared with the photograph."""
FLAT = 1e-3
"""Variance of luma beneath which the photograph guides little: it would amplify noise."""


CLEAR = 0.5 / 255
"""Opacity that is written as none."""


def resized(
    rgb: Planes, alpha: Planes | None, height: int, width: int
) -> tuple[Planes, Planes | None]:
    """RGB [3, H, W] and opacity [1, H, W] or None at height x width, in [0, 1].

    Bicubic, antialiased when shrinking. Colours weigh by their opacity, else the white of what is
    transparent would leave a fringe.
    """
    if alpha is None:
        return np.clip(_planes(rgb, height, width), 0, 1), None
    opacity = np.clip(_planes(alpha, height, width), 0, 1)
    weighted = _planes(rgb * alpha, height, width)
    colours = np.where(opacity > CLEAR, weighted / np.maximum(opacity, CLEAR), np.float32(1))
    return np.clip(colours, 0, 1), opacity


def _planes(planes: Planes, height: int, width: int) -> Planes:
    return np.stack([_resized(plane, height, width) for plane in planes])


def enlarged(stylised: Planes, small: Planes, photograph: Planes) -> Planes:
    """A stylised image [3, h, w] at the size of `photograph` [3, H, W], in [0, 1].

    `small` [3, h, w] is what was stylised: the photograph, reduced.
    """
    height, width = photograph.shape[-2:]
    guide = luma(small)
    detail = luma(photograph) - _resized(guide, height, width)
    large = np.empty_like(photograph)
    for channel, plane in enumerate(stylised):
        gain = _resized(_gain(guide, plane), height, width)
        large[channel] = gain * detail + _resized(plane, height, width)
    return np.clip(large, 0, 1, out=large)


def _resized(plane: np.ndarray, height: int, width: int) -> np.ndarray:
    image = Image.fromarray(np.ascontiguousarray(plane, np.float32))
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))


def _gain(guide: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """The slope of `plane` over `guide` around each pixel, [h, w], in [0, 1]."""
    mean = _mean(guide)
    covariance = _mean(guide * plane) - mean * _mean(plane)
    variance = _mean(guide * guide) - mean * mean
    return _mean(np.clip(covariance / (np.maximum(variance, 0) + FLAT), 0, 1))


def _mean(values: np.ndarray) -> np.ndarray:
    """Over a square around each pixel, as much of it as lies in the image; float32."""
    sums = values.astype(np.float64)
    for axis in (0, 1):
        length = sums.shape[axis]
        whole = np.cumsum(sums, axis)
        whole = np.concatenate([np.zeros_like(whole.take([0], axis)), whole], axis)
        last = np.minimum(np.arange(length) + RADIUS + 1, length)
        first = np.maximum(np.arange(length) - RADIUS, 0)
        counts = (last - first).reshape((-1, 1) if axis == 0 else (1, -1))
        sums = (whole.take(last, axis) - whole.take(first, axis)) / counts
    return sums.astype(np.float32)

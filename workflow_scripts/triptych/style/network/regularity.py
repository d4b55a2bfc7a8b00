"""How much of a picture's detail is a regular pattern.

A Gram matrix has no places, so that for it a mesh of one period and brush strokes of about that
width may be the same. In the spectrum of a small window a mesh stands in few peaks and strokes
spread over a ring: of Gaussian noise, each coefficient's energy over its ring's mean is
exponentially distributed, and exceeds PEAK once in 400.
"""

import functools

import torch
from torch import Tensor

from triptych.style.data.image_files import luma

SIDE = 64
"""Pixels a side of the windows, where an image is not smaller."""

LONGEST = 40.0
"""Pixels: patterns of longer periods are shapes."""

PEAK = 6.0
"""A coefficient counts above so many times its ring's mean energy."""

SHARPNESS = 1.5
"""Of the sigmoid by which a coefficient begins to count."""

RING = 3
"""Coefficients that a ring of the spectrum is wide."""

UNSEEN = 1 / 255
"""Standard deviation of noise that nobody sees; patterns as faint count little."""

BY_CHANCE = 0.03
"""What noise has of `regular_share`, rounded up."""


def regular_share(images: Tensor) -> Tensor:
    """Share of the detail at periods of 2 to LONGEST pixels that stands in peaks of the spectrum.

    Detail is the energy of the image's slope, so that a fine mesh counts beside soft shadows.
    images: [N, 3, H, W] in [0, 1] -> [N, windows]: Hann windows of SIDE pixels, half a side apart
    """
    grey = luma(images.float())
    side = min(SIDE, *grey.shape[-2:])
    windows = grey.unfold(-2, side, side // 2).unfold(-2, side, side // 2).flatten(1, 2)
    window, ring, radius, seen = (each.to(grey.device) for each in _rings(side))
    with torch.autocast(grey.device.type, enabled=False):
        windows = (windows - windows.mean((-2, -1), keepdim=True)) * window
        power = torch.fft.rfft2(windows).abs().square().flatten(2)[..., seen]
        power = power + UNSEEN**2 * window.square().sum()
        rings = power.new_zeros(*power.shape[:2], int(ring.max()) + 1).index_add_(2, ring, power)
        over_mean = power / (rings / ring.bincount())[..., ring]
        slopes = power * radius.square()
        return (slopes * torch.sigmoid(SHARPNESS * (over_mean - PEAK))).sum(-1) / slopes.sum(-1)


@functools.cache
def _rings(side: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The window [side, side]; and of each coefficient seen of a window's real spectrum, its ring,
    its waves a side, and its place in the flattened spectrum."""
    hann = torch.hann_window(side, periodic=False)
    down, along = torch.fft.fftfreq(side) * side, torch.fft.rfftfreq(side) * side
    radius = torch.hypot(down[:, None], along).flatten()
    # Each once: the first column holds conjugates, too.
    once = ((along > 0) | (down[:, None] > 0)) & (along < side / 2)
    seen = (radius >= side / LONGEST) & (radius <= side / 2) & once.flatten()
    ring = (radius[seen] / RING).long()
    return hann[:, None] * hann, ring - ring.min(), radius[seen], seen.nonzero()[:, 0]

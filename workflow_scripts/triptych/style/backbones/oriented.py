"""Oriented filters on a pyramid of the image: statistics of strokes that nobody learned.

Level k halves the image k-1 times by means of 2 x 2 pixels. There, pairs of an even and an odd
Gabor filter look at lightness in four directions and at two colour differences in two, and three
more channels are those values themselves. Both signs of each pass a ReLU, so that light on dark
isn't dark on light. After Portilla and Simoncelli 2000, who synthesise textures from statistics of
a steerable pyramid, with the Gram matrices of Gatys et al. 2016 in their place. Why they stand
beside the networks' own layers: docs/backbone.md.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from triptych.style.backbones.architectures import ORIENTED, ORIENTED_COLOURS, ORIENTED_SIDE

WAVELENGTH, ACROSS, ALONG = 4.5, 1.2, 1.8
"""Of a Gabor filter, in pixels: its wave, and standard deviations of its window."""

GAIN = 3.0
"""Of the filters against the plain channels."""

MIDDLE = 0.45
"""What a photograph's pixels are about, in [0, 1]."""


def oriented(images: Tensor, layers: Sequence[str], filters: Tensor) -> dict[str, Tensor]:
    """Activations [N, C, H', W'] of `layers` (of ORIENTED), of images [N, 3, H, W] in [0, 1].

    C is 2 * ORIENTED_FILTERS; H' and W' are halves of H and W, rounded down, for each level, so
    that the fifth needs sides of 16 pixels. `filters` are `oriented_filters`.
    """
    found, level = {}, images
    for name in ORIENTED[: 1 + max(ORIENTED.index(layer) for layer in layers)]:
        if name != ORIENTED[0]:
            level = functional.avg_pool2d(level, 2)
        if name in layers:
            padded = functional.pad(level - MIDDLE, (ORIENTED_SIDE // 2,) * 4, mode="replicate")
            responses = functional.conv2d(padded, filters)
            found[name] = functional.relu(torch.cat([responses, -responses], 1))
    return {name: found[name] for name in layers}


def oriented_filters() -> Tensor:
    """Gabor pairs of each mixture, then the mixture itself: float64 [ORIENTED_FILTERS, 3, 7, 7]."""
    middle = ORIENTED_SIDE // 2
    along = torch.arange(-middle, middle + 1, dtype=torch.float64)
    y, x = torch.meshgrid(along, along, indexing="ij")
    point = torch.zeros(ORIENTED_SIDE, ORIENTED_SIDE, dtype=torch.float64)
    point[middle, middle] = 1 / GAIN
    rows = []
    for count, mixture in ORIENTED_COLOURS:
        pairs = [_pair(x, y, math.pi * turn / count) for turn in range(count)]
        planes = [*(plane for pair in pairs for plane in pair), point]
        colours = torch.tensor(mixture, dtype=torch.float64)[:, None, None]
        rows += [GAIN * plane * colours for plane in planes]
    return torch.stack(rows)


def _pair(x: Tensor, y: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """An even and an odd Gabor filter of norm one and mean zero, whose wave runs along `angle`."""
    across = x * math.cos(angle) + y * math.sin(angle)
    along = y * math.cos(angle) - x * math.sin(angle)
    window = torch.exp(-(across**2) / (2 * ACROSS**2) - along**2 / (2 * ALONG**2))
    phase = 2 * math.pi * across / WAVELENGTH
    even = window * torch.cos(phase)
    even = even - window * even.sum() / window.sum()
    odd = window * torch.sin(phase)
    return even / even.norm(), odd / odd.norm()

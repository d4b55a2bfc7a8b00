"""Smooth noise that a network sees beside a photograph, fixed to the picture's own pixels.

To a convolutional network every place of a flat sky is the same; noise among the inputs tells them
apart (Ulyanov et al. 2016, whose texture networks see nothing else).
"""

import math

import torch
from torch import Tensor, nn

from triptych.core.device import keyed_generator

WAVES = 64
"""Plane waves that a channel is the sum of."""

SHORTEST, OCTAVES = 4.0, 2.0
"""Pixels of the first channel's shortest wave, and how much a channel spans; the next goes on."""

STRENGTH = 0.25
"""Standard deviation, images in [0, 1]."""

REACH = 4096
"""Pixels: trainings see the noise of places within this."""


class Grain(nn.Module):
    """Channels of Gaussian noise with waves of 4 to 16, 16 to 64, 64 to 256 pixels and so on.

    A channel is a sum of plane waves in directions by chance, the same in every network.
    """

    frequency: Tensor
    phase: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        generator = keyed_generator(torch.device("cpu"), "grain")
        random = torch.rand(3, channels, WAVES, generator=generator, dtype=torch.float64)
        exponent = OCTAVES * (torch.arange(channels)[:, None] + random[0])
        turn, angular = 2 * math.pi * random[1], 2 * math.pi / (SHORTEST * 2**exponent)
        frequency = angular * torch.stack([turn.sin(), turn.cos()])
        # Not part of a network's file.
        self.register_buffer("frequency", frequency.float(), persistent=False)
        self.register_buffer("phase", (2 * math.pi * random[2]).float(), persistent=False)

    def forward(self, images: Tensor, corners: Tensor) -> Tensor:
        """The grain [N, C, H, W] of images [N, 3, H, W]; in float64 for float64 images.

        corners: rows and columns above and left of each image, or of all of them: [N or 1, 2]
        """
        height, width = images.shape[-2:]
        kind = torch.float64 if images.dtype == torch.float64 else torch.float32
        with torch.autocast(images.device.type, enabled=False):
            frequency, corners = self.frequency.to(kind), corners.to(images.device, kind)
            ahead, along = (
                (torch.arange(length, device=images.device) + corners[:, axis, None])[:, None, :]
                for axis, length in ((0, height), (1, width))
            )
            # cos(a + b) = cos a cos b - sin a sin b makes a product of matrices of it.
            down = ahead[..., None] * frequency[0][:, None] + self.phase.to(kind)[:, None]
            right = along[..., None, :] * frequency[1][..., None]
            rows = torch.cat([down.cos(), -down.sin()], -1)
            columns = torch.cat([right.cos(), right.sin()], -2)
            grain = STRENGTH * math.sqrt(2 / WAVES) * (rows @ columns)
        return grain.expand(images.shape[0], -1, -1, -1)  # len() would fix it in an export

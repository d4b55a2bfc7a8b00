"""A small residual network of convolutions that hears a log-mel spectrogram as one sees an image.

He et al. 2016 (arXiv 1512.03385), its blocks with strides; a stem of patches that overlap by half;
and the mean and the maximum over time, so that a texture and a single event both come through.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

STEM = 8
"""Side of the stem's patches, which are half of it apart."""


class Block(nn.Module):
    """Two convolutions beside a mean and a linear map; halves both axes."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.short = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs, H, W] to [N, outputs, ceil(H / 2), ceil(W / 2)]."""
        inner = functional.relu(self.first_norm(self.first(x)))
        beside = self.short(functional.avg_pool2d(x, 2, ceil_mode=True))
        return functional.relu(self.second_norm(self.second(inner)) + beside)


class Resnet(nn.Module):
    """Log-mel segments [N, 1, bands, frames] to embeddings [N, dim]."""

    def __init__(self, dim: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, widths[0], STEM, STEM // 2, STEM // 4, bias=False)
        self.stem_norm = nn.BatchNorm2d(widths[0])
        self.blocks = nn.Sequential(*(Block(one, other) for one, other in pairwise(widths)))
        self.join = nn.Linear(2 * widths[-1], dim)

    def forward(self, mel: Tensor) -> Tensor:
        """Any number of bands and frames from STEM on."""
        x = self.blocks(functional.relu(self.stem_norm(self.stem(mel))))
        columns = x.mean(2)
        both = torch.cat([columns.mean(2), columns.amax(2)], dim=1)
        return functional.relu(self.join(both))

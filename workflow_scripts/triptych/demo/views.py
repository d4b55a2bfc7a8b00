"""Random views of photographs: what a backbone is pretrained on."""

from collections.abc import Mapping

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from triptych.core.device import keyed_generator

LONGEST_SIDE = 720
"""Pixels; a larger photograph is reduced to this before crops are taken."""


class Views:
    """Two views each of random places in photographs, a function of seed and step.

    All photographs lie below each other in one sheet, each at full and at half size, so that one
    `grid_sample` cuts a batch.
    """

    def __init__(self, photographs: Mapping[str, Image.Image], device: torch.device) -> None:
        arrays = []
        for photograph in photographs.values():
            share = min(1.0, LONGEST_SIDE / max(photograph.size))
            for scale in (share, share / 2):
                size = (round(photograph.width * scale), round(photograph.height * scale))
                reduced = photograph.resize(size, Image.Resampling.LANCZOS)
                arrays.append(np.asarray(reduced.convert("RGB")))
        heights = [array.shape[0] for array in arrays]
        self._size = torch.tensor([[array.shape[1], array.shape[0]] for array in arrays])
        self._top = torch.tensor([0, *heights[:-1]]).cumsum(0)
        sheet = np.zeros((sum(heights), int(self._size[:, 0].max()), 3), np.uint8)
        for array, top in zip(arrays, self._top.tolist(), strict=True):
            sheet[top : top + array.shape[0], : array.shape[1]] = array
        self._sheet = torch.from_numpy(sheet).to(device).permute(2, 0, 1)[None].float() / 255

    def at(self, seed: int, step: int, batch: int, view: int) -> Tensor:
        """Views [2 * batch, 3, view, view] in [0, 1]; i and i + batch are of one place.

        Crops are 7/8 to 13/8 of a view wide, so that little is sampled up or down, and shifted by
        up to a quarter of their side. Drawn on the CPU, so that all devices see the same.
        """
        generator = keyed_generator(torch.device("cpu"), "views", seed, step)

        def uniform(low: float, high: float, *shape: int) -> Tensor:
            return low + (high - low) * torch.rand(shape, generator=generator)

        photograph = torch.randint(len(self._size), (batch,), generator=generator).repeat(2)
        size = self._size[photograph]
        place = uniform(0, 1, batch, 2).repeat(2, 1) * size
        side = uniform(7 / 8, 13 / 8, 2 * batch, 1) * view
        side = torch.minimum(side, size.amin(1, keepdim=True))
        centre = place + side * uniform(-0.25, 0.25, 2 * batch, 2)
        centre = torch.minimum(torch.maximum(centre, side / 2), size - side / 2)
        mirror = torch.randint(2, (2 * batch, 1), generator=generator) * 2 - 1
        offsets = (torch.arange(view) + 0.5) / view - 0.5
        x = centre[:, :1] + side * mirror * offsets
        y = centre[:, 1:] + side * offsets + self._top[photograph][:, None]
        height, width = self._sheet.shape[2:]
        grid = torch.stack(
            [
                (2 * x / width - 1)[:, None, :].expand(-1, view, -1),
                (2 * y / height - 1)[:, :, None].expand(-1, -1, view),
            ],
            -1,
        ).reshape(1, 2 * batch * view, view, 2)
        flat = functional.grid_sample(self._sheet, grid.to(self._sheet.device), align_corners=False)
        views = flat.reshape(3, 2 * batch, view, view).transpose(0, 1)
        colours = [
            uniform(low, high, 2 * batch, channels, 1, 1).to(views.device)
            for low, high, channels in (
                (0.5, 1.5, 1),
                (0.6, 1.4, 1),
                (0.7, 1.3, 1),
                (0.85, 1.15, 3),
            )
        ]
        return _recoloured(views, *colours)


def _recoloured(
    views: Tensor, saturation: Tensor, contrast: Tensor, brightness: Tensor, gains: Tensor
) -> Tensor:
    grey = views.mean(1, keepdim=True)
    views = grey + saturation * (views - grey)
    mean = views.mean((1, 2, 3), keepdim=True)
    views = mean + contrast * (views - mean)
    return (views * (brightness * gains)).clamp(0, 1)

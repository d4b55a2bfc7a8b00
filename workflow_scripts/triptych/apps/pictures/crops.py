"""Crops without end, for `triptych learn-style`, which has no shards of photographs."""

import io
from collections.abc import Iterable

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from triptych.demo.pictures import picture
from triptych.style.data.crops import random_crops
from triptych.style.data.photographs import embedded_photographs


class CropsByChance:
    """Crops without end for training, made when they are asked for; none is held out.

    Every other one is the demo's picture by chance, as in `shard_embedded`.
    """

    training, validation = range(2**20), range(0)

    def __init__(self, size: int) -> None:
        self._size, self._photographs = size, embedded_photographs()

    def batch(self, indices: Iterable[int]) -> Tensor:
        """uint8 [n, 3, size, size]; a crop is a function of its index."""
        return torch.from_numpy(np.stack([self._crop(index) for index in indices])).permute(
            0, 3, 1, 2
        )

    def _crop(self, index: int) -> np.ndarray:
        if index % 2:
            return picture(self._size, index)
        (crop,) = random_crops(self._photographs, 1, self._size, index, varied=True)
        return np.asarray(Image.open(io.BytesIO(crop.jpeg)))

"""Training crops in a folder: CROPS holds JPEG files one behind the other, INDEX says where each
begins, how long it is, where it came from and whether it is for training or held out (the last ones
are), and SKIPPED which photographs gave no crop and why."""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, write_csv
from triptych.core.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor  # writing shards needs no PyTorch

logger = logging.getLogger(__name__)

CROPS, INDEX, SKIPPED = "crops.bin", "index.csv", "skipped.csv"
SPLITS = ("training", "held_out")
"""The index's column `split`; crops held out of training are for validation."""


@dataclass(frozen=True)
class Crop:
    """A square crop as a JPEG file's bytes, and the name of what it was cut from."""

    source: str
    jpeg: bytes


@dataclass(frozen=True)
class Skipped:
    """A photograph that gave no crop: `reason` is broken, grey or tiny."""

    source: str
    reason: str
    detail: str


def write_shards(
    crops: Iterable[Crop | Skipped], total: int, folder: Path, validation: int, what: str
) -> None:
    """Write what `crops` yields for the `total` photographs of `what`; the last are held out.
    Raises InputError when no more than `validation` crops are left."""
    rows: list[tuple[int, int, str]] = []
    skipped: list[Skipped] = []
    offset = 0
    with atomic_path(folder / CROPS) as binary:
        with binary.open("wb") as stream, Progress("crops", total, "images") as progress:
            for result in crops:
                if isinstance(result, Crop):
                    stream.write(result.jpeg)
                    rows.append((offset, len(result.jpeg), result.source))
                    offset += len(result.jpeg)
                else:
                    skipped.append(result)
                progress.advance()
        counts = Counter(skip.reason for skip in skipped)
        summary = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
        if skipped and not rows:
            first = f"{skipped[0].source}: {skipped[0].reason}, {skipped[0].detail}"
            none = f"none of its {len(skipped)} images can be used ({summary})"
            raise InputError(f"{what}: {none}. The first: {first}")
        check_validation(len(rows), validation, f"the usable images of {what}")
        training = len(rows) - validation
        index = pd.DataFrame(rows, columns=["offset", "bytes", "source"])
        index.insert(0, "split", np.repeat(SPLITS, [training, validation]))
        index.insert(0, "crop", range(len(rows)))
        write_csv(index, folder / INDEX)
        write_csv(pd.DataFrame(skipped, columns=["source", "reason", "detail"]), folder / SKIPPED)
    message = "%s: %d crops for training, %d held out; skipped: %s"
    logger.info(message, what, training, validation, summary or "none")


def check_validation(count: int, validation: int, what: str) -> None:
    """Raise InputError unless some of `count` crops are left when `validation` are held out."""
    if not 0 <= validation < count:
        reason = f"of which {validation} shall be held out"
        raise InputError(f"{what} are {count}, {reason}: give more images, or hold fewer out")


class Shards:
    """Crops by number, decoded when asked for; `size`: pixels of a side; `training`, `validation`:
    the numbers of either kind."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError when a file is absent, or the two don't belong together."""
        self._name = str(folder / CROPS)
        try:
            index = pd.read_csv(folder / INDEX, dtype={"source": str}, keep_default_na=False)
            self.sources, splits = index["source"].tolist(), index["split"].tolist()
            self._ends = np.cumsum([0, *index["bytes"]])
            self._bytes = np.memmap(folder / CROPS, np.uint8, "r")
            if len(self._bytes) != self._ends[-1]:
                raise ValueError(f"{len(self._bytes)} bytes instead of {self._ends[-1]}")
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the crops of {folder} cannot be read ({error}); delete {CROPS} and {INDEX} to "
                "make them again"
            ) from error
        self.training = range(splits.count("training"))
        self.validation = range(len(self.training), len(splits))
        self.size = self._decoded(0, size=None).shape[0]

    def __len__(self) -> int:
        return len(self.sources)

    def batch(self, indices: Iterable[int]) -> "Tensor":
        """uint8 [n, 3, size, size] of the crops with these numbers, in this order."""
        import cv2
        import torch

        numbers = [int(index) for index in indices]
        crops = np.empty((len(numbers), 3, self.size, self.size), np.uint8)
        for planes, number in zip(crops, numbers, strict=True):
            # Ten times faster than a transposed copy.
            cv2.split(self._decoded(number, self.size), list(planes))
        return torch.from_numpy(crops)

    def _decoded(self, index: int, size: int | None) -> np.ndarray:
        """uint8 [size, size, 3], RGB."""
        import cv2  # the fastest of the decoders at hand; lets other threads run meanwhile

        start, end = self._ends[index : index + 2]
        pixels = cv2.imdecode(self._bytes[start:end], cv2.IMREAD_COLOR_RGB)
        if pixels is None or (size is not None and pixels.shape != (size, size, 3)):
            damaged = f"crop {index} ({self.sources[index]}) is damaged"
            raise InputError(f"{self._name}: {damaged}; make it anew")
        return pixels

"""Training crops in a folder: CROPS holds JPEG files one behind the other, INDEX says where each
begins, how long it is, where it came from and whether it is for training or held out (the last ones
are), and SKIPPED which photographs gave no crop and why."""

import csv
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor  # writing shards needs no PyTorch

logger = logging.getLogger(__name__)

CROPS, INDEX, SKIPPED = "crops.bin", "index.csv", "skipped.csv"
INDEX_COLUMNS = ("crop", "split", "offset", "bytes", "source")
SKIPPED_COLUMNS = ("source", "reason", "detail")
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
    with ExitStack() as stack:
        binary, index, left_out = (
            stack.enter_context(atomic_path(folder / name)) for name in (CROPS, INDEX, SKIPPED)
        )
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
        numbered = ((i, SPLITS[i >= training], *row) for i, row in enumerate(rows))
        _write_rows(index, INDEX_COLUMNS, numbered)
        reasons = ((skip.source, skip.reason, skip.detail) for skip in skipped)
        _write_rows(left_out, SKIPPED_COLUMNS, reasons)
    message = "%s: %d crops for training, %d held out; skipped: %s"
    logger.info(message, what, training, validation, summary or "none")


def check_validation(count: int, validation: int, what: str) -> None:
    """Raise InputError unless some of `count` crops are left when `validation` are held out."""
    if not 0 <= validation < count:
        reason = f"of which {validation} shall be held out"
        raise InputError(f"{what} are {count}, {reason}: give more images, or hold fewer out")


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    # File names may hold bytes that are no text; they are shown, not fatal.
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


class Shards:
    """Crops by number, decoded when asked for; `size`: pixels of a side; `training`, `validation`:
    the numbers of either kind."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError when a file is absent, or the two don't belong together."""
        self._name = str(folder / CROPS)
        try:
            with (folder / INDEX).open(encoding="utf-8", newline="") as lines:
                rows = list(csv.DictReader(lines))
            self.sources = [row["source"] for row in rows]
            splits = [row["split"] for row in rows]
            self._ends = np.cumsum([0, *(int(row["bytes"]) for row in rows)])
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

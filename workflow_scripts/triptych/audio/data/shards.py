"""Clips on disk, in shard files with an index (`shard_writing.py`), read at random by training."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from triptych.audio.data.shard_files import read_clip
from triptych.core.errors import InputError


class Store(Protocol):
    """Recordings by name: waveforms, as in a `ClipStore`, or what a model makes of them."""

    def frames(self, clip: str) -> int:
        """Length of a clip in samples."""

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> np.ndarray:
        """float32 [frames], or fewer at the end of the clip; or [segments, ...]."""


class ClipStore:
    """Clips of one or several folders of shards, by name; windows of them without the rest.

    Holds the index and no open file: it may be pickled, and shared by threads and processes.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        """Raises InputError for a folder without index and a shard cut short."""
        table = pd.concat([_read_index(Path(folder)) for folder in folders], ignore_index=True)
        # Arrays rather than rows: half a million clips in each of many worker processes.
        self._rows = {clip: row for row, clip in enumerate(table["clip"])}
        self._shard, self._kind = (pd.Categorical(table[name]) for name in ("shard", "kind"))
        self._offset, self._bytes, self._frames = (
            table[name].to_numpy(np.int64) for name in ("offset", "bytes", "frames")
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def frames(self, clip: str) -> int:
        """Length at 32 kHz. Raises KeyError for a clip that isn't there."""
        return int(self._frames[self._rows[clip]])

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> np.ndarray:
        """float32 [frames] in [-1, 1], mono at 32 kHz, from frame `start` on (None: to the end)."""
        row = self._rows[clip]
        frames = int(self._frames[row]) - start if frames is None else frames
        return read_clip(
            str(self._kind[row]),
            Path(str(self._shard[row])),
            int(self._offset[row]),
            int(self._bytes[row]),
            start,
            frames,
        )


def _read_index(folder: Path) -> pd.DataFrame:
    """The index with the shards' whole paths, checked against the files' sizes."""
    try:
        table = pd.read_csv(
            folder / "index.csv",
            dtype={"clip": str, "shard": str, "kind": str},
            keep_default_na=False,
        )
        ends = (table["offset"] + table["bytes"]).groupby(table["shard"]).max()
        sizes = {str(shard): (folder / str(shard)).stat().st_size for shard in ends.index}
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"{folder} cannot be read as audio shards ({error}); delete it and run again"
        ) from error
    for shard, end in ends.items():
        if sizes[str(shard)] != end:
            raise InputError(
                f"{folder / str(shard)} has {sizes[str(shard)]} bytes, but its index tells of "
                f"{end}; delete {folder} and run again"
            )
    table["shard"] = str(folder) + os.sep + table["shard"]
    return table

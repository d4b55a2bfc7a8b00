"""A recording in D4RL's HDF5 layout, read and checked."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from triptych.rl.tasks.environments import Spaces
from triptych.rl.tasks.locomotion import Flags

logger = logging.getLogger(__name__)

Floats = NDArray[np.float32]
PathLike = str | os.PathLike[str]

MATRICES = ("observations", "actions")
FLAGS = ("terminals", "timeouts")
KEYS = ("observations", "actions", "rewards", "terminals", "timeouts")
ROUNDING = 1e-5
"""How far beyond its bounds an action may lie, as a part of half of their distance."""
LAYOUT = "See docs/own-study.md for the layout of such files."
LARGEST_RATIO = 2000
"""Largest plausible ratio of claimed to stored bytes; deflate reaches 1032."""


class DatasetError(ValueError):
    """A wrong file; the message names file, key, expected and found values, and what to do."""

    def __init__(
        self, path: PathLike, key: str, expected: str, found: str, advice: str = LAYOUT
    ) -> None:
        super().__init__(f"{path}: {key}: expected {expected}, found {found}. {advice}")


@dataclass(frozen=True)
class Recording:
    """Recorded steps in order: observations [N, S], actions [N, A], the others [N]."""

    observations: Floats
    actions: Floats
    rewards: Floats
    terminals: Flags
    timeouts: Flags

    def episode_ends(self) -> NDArray[np.int64]:
        """Indices of the last step of each episode; the last step of all always ends one."""
        ends = np.flatnonzero(self.terminals | self.timeouts)
        last = len(self.rewards) - 1
        return ends if ends.size and ends[-1] == last else np.append(ends, last)


def read_recording(path: PathLike, spaces: Spaces | None = None) -> Recording:
    """Read and check an HDF5 file in D4RL's layout, against a task's sizes and bounds if given.

    Actions come back in [-1, 1], which are also the bounds without `spaces`. Raises DatasetError
    for whatever is missing or wrong.
    """
    with _opened(path) as stream:
        _check_layout(path, stream, spaces)
        columns = {key: _read_column(path, stream[key], key) for key in KEYS}
    columns["actions"] = _narrowed(path, columns["actions"], spaces)
    return Recording(**columns)


@contextmanager
def _opened(path: PathLike) -> Iterator[h5py.File]:
    """An open file; errors in reading it become DatasetError."""
    try:
        with h5py.File(path, "r") as stream:
            yield stream
    except FileNotFoundError as error:
        advice = "Correct the path in the config."
        raise DatasetError(path, "file", "an HDF5 file", "nothing there", advice) from error
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # h5py raises many kinds for a damaged file
        found = f"something else ({error})"
        advice = "Delete it and download or write it again; it may have been cut short."
        raise DatasetError(path, "file", "a readable HDF5 file", found, advice) from error


def _check_layout(path: PathLike, stream: h5py.File, spaces: Spaces | None) -> None:
    """Check keys, shapes, types and sizes, without reading the rows."""
    for key in KEYS:
        if not isinstance(stream.get(key), h5py.Dataset):
            found = "the keys " + (", ".join(sorted(stream)) or "(none)")
            advice = f"D4RL's layout has {', '.join(KEYS)}: rename or add {key}."
            raise DatasetError(path, key, "a dataset of that name", found, advice)
        _check_shape_and_dtype(path, stream[key], key, len(stream["observations"]))
    claimed = sum(stream[key].nbytes for key in KEYS)
    size = Path(path).stat().st_size
    if claimed > LARGEST_RATIO * size:
        found = f"datasets that claim {claimed} bytes"
        advice = "They were announced and never written: write or download the file again."
        raise DatasetError(path, "file", f"data that fit into its {size} bytes", found, advice)
    rows = len(stream["observations"])
    if rows < 2:
        raise DatasetError(path, "observations", "at least 2 rows", f"{rows} rows")
    if spaces is not None:
        sizes = {"observations": spaces.observation_size, "actions": spaces.action_size}
        for key, size in sizes.items():
            if size != (columns := stream[key].shape[1]):
                expected = f"{size} columns for {spaces.task}"
                raise DatasetError(path, key, expected, f"{columns} columns")


def _check_shape_and_dtype(path: PathLike, dataset: h5py.Dataset, key: str, rows: int) -> None:
    dimensions = 2 if key in MATRICES else 1
    if dataset.ndim != dimensions:
        expected = "2 dimensions" if dimensions == 2 else "1 dimension"
        raise DatasetError(path, key, expected, f"shape {dataset.shape}")
    if key in FLAGS:
        expected, right = "bool (or 0 and 1 as integers)", dataset.dtype.kind in "biu"
    else:
        expected, right = "float32 (or float64)", dataset.dtype in (np.float32, np.float64)
    if not right:
        raise DatasetError(path, key, expected, f"dtype {dataset.dtype}")
    if len(dataset) != rows:
        expected = f"{rows} rows, as many as observations"
        raise DatasetError(path, key, expected, f"{len(dataset)} rows")


def _read_column(path: PathLike, dataset: h5py.Dataset, key: str) -> NDArray[Any]:
    """One key's rows as float32 or bool, every value checked."""
    if key in FLAGS:
        flags = dataset[:]
        if flags.dtype != np.bool_:
            if not np.isin(flags, (0, 1)).all():
                values = f"values from {flags.min()} to {flags.max()}"
                raise DatasetError(path, key, "0 and 1 only", values)
            flags = flags.astype(np.bool_)
        return np.asarray(flags)
    # Read as float32 at once: a float64 copy of a million rows is never held.
    values = dataset.astype(np.float32)[:]
    # Row sums, because a mask of every value would be as large as a quarter of the data.
    with np.errstate(invalid="ignore"):  # infinity less infinity is the NaN that is looked for
        sums = values if values.ndim == 1 else values.sum(axis=1, dtype=np.float64)
    finite = np.isfinite(sums)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        found = f"NaN or infinity in {int((~finite).sum())} rows, first in row {first}"
        advice = "Remove the episodes that hold these rows (a simulation that blew up, perhaps)."
        raise DatasetError(path, key, "finite numbers", found, advice)
    return np.asarray(values)


def _narrowed(path: PathLike, actions: Floats, spaces: Spaces | None) -> Floats:
    """Actions scaled from a task's bounds to [-1, 1]. Raises DatasetError for one beyond them."""
    bounds = (spaces.low, spaces.high) if spaces else (-1.0, 1.0)
    low, high = (np.broadcast_to(np.float64(bound), actions.shape[1:]) for bound in bounds)
    slack = ROUNDING * (high - low) / 2
    beyond = np.argwhere((actions < low - slack) | (actions > high + slack))
    if len(beyond):
        (row, column), count = beyond[0], len(np.unique(beyond[:, 0]))
        expected = f"numbers in [{low[column]:g}, {high[column]:g}]"
        spread = f"{actions.min():.3g} to {actions.max():.3g}"
        advice = "Clip them if the simulation clipped them too, or scale them to the task's range."
        found = f"{spread} in {count} rows, first in row {row}"
        raise DatasetError(path, "actions", expected, found, advice)
    return spaces.narrowed(actions) if spaces else actions

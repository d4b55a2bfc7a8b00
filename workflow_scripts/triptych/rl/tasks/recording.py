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
from triptych.rl.tasks.locomotion import HORIZON, Flags

logger = logging.getLogger(__name__)

Floats = NDArray[np.float32]
PathLike = str | os.PathLike[str]

MATRICES = ("observations", "actions", "next_observations")
FLAGS = ("terminals", "timeouts")
REQUIRED = ("observations", "actions", "rewards", "terminals")
OPTIONAL = ("timeouts", "next_observations")
ROUNDING = 1e-5
"""How far beyond its bounds an action may lie, as a part of half of their distance."""
LARGEST_RATIO = 2000
"""Bytes that a byte of a file may stand for: deflate, the best of the usual filters, knows 1032."""


class DatasetError(ValueError):
    """A file that is not what it should be: which file and key, what was expected, what to do."""

    def __init__(self, path: PathLike, key: str, expected: str, found: str, advice: str) -> None:
        super().__init__(f"{path}: {key}: expected {expected}, found {found}. {advice}")
        self.path, self.key, self.expected, self.found = str(path), key, expected, found
        self.advice = advice


@dataclass(frozen=True)
class Recording:
    """Steps as they were recorded, in order: observations [N, S], actions [N, A], the rest [N]."""

    observations: Floats
    actions: Floats
    rewards: Floats
    terminals: Flags
    timeouts: Flags
    next_observations: Floats | None = None
    """The file's own, [N, S], where it has them."""

    def episode_ends(self) -> NDArray[np.int64]:
        """Indices of the last step of each episode; the last step of all always ends one."""
        ends = np.flatnonzero(self.terminals | self.timeouts)
        last = len(self.rewards) - 1
        return ends if ends.size and ends[-1] == last else np.append(ends, last)


def read_recording(path: PathLike, spaces: Spaces | None = None) -> Recording:
    """Read and check an HDF5 file in D4RL's layout, against a task's sizes and bounds if given.

    Actions come back in [-1, 1], which are also the bounds without `spaces`. Without a `timeouts`
    key, as in D4RL's oldest files, episodes are cut after 1000 steps (or the task's time limit),
    where `d4rl.qlearning_dataset` cuts them.
    Raises DatasetError for whatever else is missing or wrong.
    """
    with _opened(path) as stream:
        _check_layout(path, stream, spaces)
        columns = {key: _read_column(path, stream[key], key) for key in _present(stream)}
    columns["actions"] = _narrowed(path, columns["actions"], spaces)
    if "timeouts" not in columns:
        horizon = spaces.horizon if spaces else HORIZON
        logger.warning("%s has no timeouts: episodes are cut after %d steps", path, horizon)
        columns["timeouts"] = timeouts_by_length(columns["terminals"], horizon)
    return Recording(**columns)


def check_layout(path: PathLike) -> int:
    """Check a file's keys, shapes and types without reading its rows; how many steps it has.

    Raises DatasetError for whatever is missing or wrong.
    """
    with _opened(path) as stream:
        _check_layout(path, stream, None)
        return len(stream["observations"])


@contextmanager
def _opened(path: PathLike) -> Iterator[h5py.File]:
    """The file, while what goes wrong with it is a DatasetError."""
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


def _present(stream: h5py.File) -> list[str]:
    return [*REQUIRED, *(key for key in OPTIONAL if key in stream)]


def _check_layout(path: PathLike, stream: h5py.File, spaces: Spaces | None) -> None:
    """Everything that can be told without reading the rows."""
    for key in _present(stream):
        if not isinstance(stream.get(key), h5py.Dataset):
            found = "the keys " + (", ".join(sorted(stream)) or "(none)")
            advice = f"D4RL's layout has {', '.join(REQUIRED)} and timeouts: rename or add {key}."
            raise DatasetError(path, key, "a dataset of that name", found, advice)
        _check_shape_and_dtype(path, stream[key], key, stream["observations"].shape)
    claimed = sum(stream[key].nbytes for key in _present(stream))
    there = Path(path).stat().st_size
    if claimed > LARGEST_RATIO * there:
        found = f"datasets that claim {claimed} bytes"
        advice = "They were announced and never written: write or download the file again."
        raise DatasetError(path, "file", f"data that fit into its {there} bytes", found, advice)
    rows = len(stream["observations"])
    if rows < 2:
        advice = "Record more steps: a transition needs a next observation."
        raise DatasetError(path, "observations", "at least 2 rows", f"{rows} rows", advice)
    if spaces is not None:
        task = spaces.task
        sizes = {"observations": spaces.observation_size, "actions": spaces.action_size}
        for key, size in sizes.items():
            if size not in (None, stream[key].shape[1]):
                found = f"{stream[key].shape[1]} columns"
                advice = f"Give a file of {task}, or name the task that the file is of."
                raise DatasetError(path, key, f"{size} columns for {task}", found, advice)


def _check_shape_and_dtype(
    path: PathLike, dataset: h5py.Dataset, key: str, observations_shape: tuple[int, ...]
) -> None:
    dimensions = 2 if key in MATRICES else 1
    if dataset.ndim != dimensions:
        expected = f"{dimensions} dimension{'s' if dimensions > 1 else ''}"
        found = f"shape {dataset.shape}"
        advice = "Write one row a step: [N, size] for observations and actions, else [N]."
        raise DatasetError(path, key, expected, found, advice)
    if key in FLAGS:
        expected, right = "bool (or 0 and 1 as integers)", dataset.dtype.kind in "biu"
    else:
        expected, right = "float32 (or float64)", dataset.dtype in (np.float32, np.float64)
    if not right:
        advice = f"Convert {key} before writing the file."
        raise DatasetError(path, key, expected, f"dtype {dataset.dtype}", advice)
    if len(dataset) != observations_shape[0]:
        expected = f"{observations_shape[0]} rows, as many as observations"
        found = f"{len(dataset)} rows"
        advice = "All keys describe the same steps: write them with one length."
        raise DatasetError(path, key, expected, found, advice)
    if key == "next_observations" and dataset.shape != observations_shape:
        expected = f"{observations_shape[1]} columns, as many as observations"
        found = f"{dataset.shape[1]} columns"
        advice = "Write what was observed after each step, or leave the key out."
        raise DatasetError(path, key, expected, found, advice)


def _read_column(path: PathLike, dataset: h5py.Dataset, key: str) -> NDArray[Any]:
    """One key's rows as float32 or bool, every value checked."""
    if key in FLAGS:
        flags = dataset[:]
        if flags.dtype != np.bool_:
            if not np.isin(flags, (0, 1)).all():
                found = f"values from {flags.min()} to {flags.max()}"
                advice = f"Write {key} as booleans."
                raise DatasetError(path, key, "0 and 1 only", found, advice)
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
    low, high = (spaces.low, spaces.high) if spaces else (np.float64(-1), np.float64(1))
    slack = ROUNDING * (high - low) / 2
    beyond = (actions.min(axis=0) < low - slack) | (actions.max(axis=0) > high + slack)
    if beyond.any():
        outside = ((actions < low - slack) | (actions > high + slack)).any(axis=1)
        first = int(np.flatnonzero(beyond)[0])
        bounds = [float(np.broadcast_to(bound, beyond.shape)[first]) for bound in (low, high)]
        expected = f"numbers in [{bounds[0]:g}, {bounds[1]:g}]"
        found = (
            f"{actions.min():.3g} to {actions.max():.3g} in {int(outside.sum())} rows, first in "
            f"row {int(np.flatnonzero(outside)[0])}"
        )
        advice = "Clip them if the simulation clipped them too, or scale them to the task's range."
        raise DatasetError(path, "actions", expected, found, advice)
    return spaces.narrowed(actions) if spaces else actions


def timeouts_by_length(terminals: Flags, horizon: int) -> Flags:
    """True at the steps that d4rl takes for time-outs in a file which does not mark them.

    These are every `horizon`-th step since the latest time-out or, as d4rl's counter starts at 1
    after a terminal, every step that is number `horizon` - 1 after one.
    """
    timeouts = np.zeros(len(terminals), dtype=np.bool_)
    start, counted = 0, 0
    for end in [*np.flatnonzero(terminals).tolist(), len(terminals) - 1]:
        cuts = np.arange(start + horizon - 1 - counted, end + 1, horizon)
        timeouts[cuts] = True
        # A terminal that is itself a time-out resets the counter like any time-out.
        start, counted = end + 1, int(not timeouts[end])
    return timeouts

"""A recording in D4RL's HDF5 layout, read and checked."""

import errno
import json
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from triptych.rl.tasks.spaces import Flags, Spaces, brief, lost_in_float32
from triptych.rl.tasks.transitions import DatasetError, Floats, PathLike

logger = logging.getLogger(__name__)

MATRICES = ("observations", "actions")
FLAGS = ("terminals", "timeouts")
KEYS = ("observations", "actions", "rewards", "terminals", "timeouts")
NEXT = "next_observations"
ROUNDING = 1e-5
"""How far beyond its bounds an action may lie, as a part of half of their distance."""
SCALED = 0.999
"""Largest action from which those of an environment with wider bounds seem scaled to [-1, 1]."""
CLOSE = 1e-3
"""How far `next_observations` may lie from the next row, in deviations of their column."""
LOOKED_AT = 20_000
"""Rows by which a column's deviation is judged."""
REASONS = {
    errno.ENOENT: ("nothing there", "Correct the path in the config."),
    errno.EAGAIN: ("one that is locked", "Close the program that writes it, and run again."),
    errno.EACCES: ("permission denied", "Let it be read by you (chmod u+r)."),
    errno.ENOLCK: ("no locks", "Set HDF5_USE_FILE_LOCKING=FALSE: its file system has no locks."),
}
"""What was found in place of a file to read, and what to do, by the system's error."""
HDF5 = b"\x89HDF\r\n\x1a\n"
USER_BLOCKS = (0, 512, 1024, 2048, 4096, 8192)
"""Places at which HDF5's signature may stand."""
CONVERT = "Write its arrays with h5py, in the layout of docs/own-study.md."
KINDS = (
    (b"version https://git-lfs", "a pointer of Git LFS", "Fetch the file itself (git lfs pull)."),
    (b"<", "a web page", "Download the file itself: a browser shows what the page says."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it, and give the HDF5 file in it."),
    (b"PK", "a zip archive, as .npz and .pt files are", CONVERT),
    (b"\x93NUMPY", "an array of NumPy (.npy)", CONVERT),
    (b"\x80", "a pickle", f"{CONVERT} A pickle can run any code: open only one you trust."),
)
"""Beginnings of files that people give in place of HDF5, what they are, and what to do."""


@dataclass(frozen=True)
class Recording:
    """Recorded steps in order: observations [N, S], actions [N, A], the others [N]."""

    observations: Floats
    actions: Floats
    rewards: Floats
    terminals: Flags
    timeouts: Flags
    followed: bool = False
    """Whether the file's `next_observations` agree with the order of its rows."""

    def episode_ends(self) -> NDArray[np.int64]:
        """Indices of the last step of each episode; the last step of all always ends one."""
        ends = np.flatnonzero(self.terminals | self.timeouts)
        last = len(self.rewards) - 1
        return ends if ends.size and ends[-1] == last else np.append(ends, last)


def read_recording(
    path: PathLike,
    spaces: Spaces | None = None,
    published: bool = False,
    accepted: Collection[str] = (),
) -> Recording:
    """Read and check an HDF5 file in D4RL's layout, against a task's sizes and bounds if given.

    Actions come back in [-1, 1]; those are the bounds without `spaces`, and those of `write_minari`
    go before. published: rows that are not followed by their next observation stay as they are, as
    D4RL's own loader takes them. accepted: the task's `accept`. Raises DatasetError for whatever is
    missing or wrong.
    """
    with _opened(path) as stream:
        _check_layout(path, stream, spaces)
        if not published and "precision" not in accepted:
            _check_precision(path, stream)
        columns = {key: _read_column(path, stream[key], key) for key in KEYS}
        followed = _check_followed(path, stream, columns, published)
        spaces = _own_bounds(stream, spaces)
    columns["actions"] = _narrowed(path, columns["actions"], spaces)
    return Recording(**columns, followed=followed)


def recorded_environment(path: PathLike) -> dict[str, Any] | None:
    """`id` and `kwargs` of gymnasium's EnvSpec that `write_minari` left in a file."""
    with _opened(path) as stream:
        spec: dict[str, Any] | None = json.loads(stream.attrs.get("minari_env_spec", "null"))
        return spec


@contextmanager
def _opened(path: PathLike) -> Iterator[h5py.File]:
    """An open file; errors in reading it become DatasetError."""
    try:
        with h5py.File(path, "r") as stream:
            yield stream
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # h5py raises many kinds for a damaged file
        reason = _other_kind(Path(path), error)
        if isinstance(error, OSError) and error.errno in REASONS:
            reason = REASONS[error.errno]
        raise DatasetError(path, "file", "a readable HDF5 file", *reason) from error


def _other_kind(path: Path, error: Exception) -> tuple[str, str]:
    """What lies where no HDF5 file can be read, and what to do."""
    if path.is_dir():
        return "a folder", "Give the HDF5 file itself."
    try:
        with path.open("rb") as stream:
            start = stream.read(max(USER_BLOCKS) + len(HDF5))
    except OSError:
        return f"something else ({error})", "Correct the path in the config."
    if any(start[at:].startswith(HDF5) for at in USER_BLOCKS):
        advice = "Delete it and download or write it again; it may have been cut short."
        return f"HDF5 that is damaged ({error})", advice
    for begin, kind, advice in KINDS:
        if start.lstrip().startswith(begin):
            return kind, advice
    return f"something else, which begins with {start[:8]!r}" if start else "an empty file", CONVERT


def _check_layout(path: PathLike, stream: h5py.File, spaces: Spaces | None) -> None:
    """Check keys, shapes, types and sizes, without reading the rows."""
    for key in KEYS:
        if not isinstance(stream.get(key), h5py.Dataset):
            if isinstance(group := stream.get(key), h5py.Group):
                found = f"a group with {brief(', '.join(group)) or 'nothing'} in it"
                advice = f"Write its arrays as one of the shape [steps, numbers], {key}."
                raise DatasetError(path, key, "a dataset", found, advice)
            found = "the keys " + (brief(", ".join(sorted(stream))) or "(none)")
            advice = f"D4RL's layout has {', '.join(KEYS)}: rename or add {key}."
            raise DatasetError(path, key, "a dataset of that name", found, advice)
        _check_shape_and_dtype(path, stream[key], key, len(stream["observations"]))
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
    made = dataset.id.get_create_plist()
    filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
    if missing := [code for code in filters if not h5py.h5z.filter_avail(code)]:
        found, advice = f"HDF5's filter {missing[0]}, a plugin", "Write it again, with gzip."
        raise DatasetError(path, key, "a compression of HDF5 itself", found, advice)
    _check_written(path, dataset)


def _check_written(path: PathLike, dataset: h5py.Dataset) -> None:
    """Raise DatasetError for rows that were never written, for which HDF5 reads zeros."""
    if dataset.is_virtual:
        found = "a virtual one, which reads as zeros where its sources are missing"
        raise DatasetError(path, dataset.name, "a dataset", found, "Copy its values into the file.")
    if dataset.size and not dataset.id.get_storage_size():
        found = f"none of the {dataset.nbytes} bytes that it claims"
        advice = "It was announced and never written: write or download the file again."
        raise DatasetError(path, dataset.name, "its values", found, advice)
    if dataset.chunks and dataset.name.strip("/") in MATRICES and dataset.size:
        chunks = np.prod(-(-np.array(dataset.shape) // np.array(dataset.chunks)))
        if (count := dataset.id.get_num_chunks()) < chunks:
            found = f"{count} of {chunks} chunks, and zeros for the others"
            advice = "Leave out the rows of the buffer that no step was written to."
            raise DatasetError(path, dataset.name, "all its values", found, advice)


def _own_bounds(stream: h5py.File, spaces: Spaces | None) -> Spaces | None:
    """The spaces with a file's own bounds of actions, if it has some."""
    low, high = (stream.attrs.get(f"minari_action_{end}") for end in ("low", "high"))
    if spaces is None or low is None or high is None:
        return spaces
    own = replace(spaces, low=np.asarray(low, np.float64), high=np.asarray(high, np.float64))
    if (own.low != spaces.low).any() or (own.high != spaces.high).any():
        told = spaces.task, own.low, own.high, spaces.low, spaces.high
        logger.warning("%s: actions of %s to %s become the environment's %s to %s", *told)
    return own


def _check_followed(
    path: PathLike, stream: h5py.File, columns: dict[str, NDArray[Any]], published: bool
) -> bool:
    """Whether the file's `next_observations`, if there are any, show the order of its rows.

    Raises DatasetError where they aren't the next row's and no episode ends; of D4RL's own files
    they show nothing.
    """
    if NEXT not in stream:
        return False
    following, observations = stream[NEXT], columns["observations"]
    if (shape := getattr(following, "shape", None)) != observations.shape:
        raise DatasetError(path, NEXT, f"shape {observations.shape}", f"shape {shape}")
    shown = observations[:LOOKED_AT].astype(np.float64)
    tolerance = CLOSE * shown.std(0) + 2 * np.spacing(np.abs(shown).max(0).astype(np.float32))
    same = (np.abs(following[:-1] - observations[1:]) <= tolerance).all(1)
    rows = np.flatnonzero(~(same | columns["terminals"][:-1] | columns["timeouts"][:-1]))
    if len(rows):
        found = f"other observations after {len(rows)} rows without an end, first row {rows[0]}"
        if not published:
            advice = "Mark the last step of each episode, and keep its steps in order."
            raise DatasetError(path, NEXT, "the observations of the next rows", found, advice)
        logger.warning("%s: %s; used as D4RL's loader uses them", path, found)
    return not published


def _check_precision(path: PathLike, stream: h5py.File) -> None:
    """Raise DatasetError for numbers of which float32, in which networks compute, leaves few."""
    for key in (*MATRICES, "rewards"):
        if found := lost_in_float32(stream[key][:LOOKED_AT]):
            advice = "Subtract what the numbers have in common, such as the first time of each file"
            advice += " (or accept: [precision] in the task)."
            raise DatasetError(path, key, "numbers that float32 tells apart", found, advice)


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
    slack = ROUNDING * (high - low) / 2 + np.spacing(np.maximum(abs(low), abs(high)), dtype="f4")
    beyond = np.argwhere((actions < low - slack) | (actions > high + slack))
    if len(beyond):
        (row, column), count = beyond[0], len(np.unique(beyond[:, 0]))
        expected = f"numbers in [{low[column]:g}, {high[column]:g}]"
        spread = f"{actions.min():.3g} to {actions.max():.3g}"
        advice = "Clip them if the simulation clipped them too, or scale them to the task's range."
        found = f"{spread} in {count} rows, first in row {row}"
        raise DatasetError(path, "actions", expected, found, advice)
    narrowed = spaces.narrowed(actions) if spaces else actions
    wide = (low < -1) & (high > 1)
    most = abs(actions[:, wide]).max(initial=0)
    if SCALED <= most <= 1 + ROUNDING:
        logger.warning(
            "%s: actions: the largest is %.6g, and the bounds are %g to %g: were they scaled to "
            "[-1, 1], as stable-baselines3's buffers are? Write them in the environment's bounds",
            path,
            most,
            low.min(),
            high.max(),
        )
    return narrowed

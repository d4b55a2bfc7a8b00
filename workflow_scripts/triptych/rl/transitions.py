"""Transitions in D4RL's HDF5 layout: read, checked, turned into pairs for Q-learning, and kept.

`q_learning_transitions` gives what `d4rl.qlearning_dataset` gives (D4RL, d4rl/__init__.py): the
next observation is the next row's, the last row and every row cut by a time-out are dropped, and
terminals stay, with whatever row follows as their (masked) next observation. Only where a file has
`next_observations` and rows were taken out of it is the file's own next observation used.
"""

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path, write_csv
from triptych.rl.environments import Spaces, spaces_of
from triptych.rl.held_out import HeldOut, chosen_episodes
from triptych.rl.locomotion import HORIZON, Flags
from triptych.rl.tasks import Task

logger = logging.getLogger(__name__)

Floats = NDArray[np.float32]
PathLike = str | os.PathLike[str]

MATRICES = ("observations", "actions", "next_observations")
FLAGS = ("terminals", "timeouts")
REQUIRED = ("observations", "actions", "rewards", "terminals")
OPTIONAL = ("timeouts", "next_observations")
SAME = 1e-4
"""How far two observations may be apart, over one and their size, that are one but for rounding."""
HELD_OUT = "held_out."
"""How the names of held-out arrays begin, in the file of transitions."""
BLOCK = 1 << 16
ROUNDING = 1e-5
"""How far beyond its bounds an action may lie, as a part of half of their distance."""
LARGEST_RATIO = 2000
"""Bytes that a byte of a file may stand for: deflate, the best of the usual filters, knows 1032."""


class DatasetError(ValueError):
    """A file that is not what it should be: which file and key, what was expected, what to do."""

    def __init__(self, path: PathLike, key: str, expected: str, found: str, advice: str) -> None:
        super().__init__(f"{path}: {key}: expected {expected}, found {found}. {advice}")
        self.path, self.key, self.expected, self.found = str(path), key, expected, found


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


@dataclass(frozen=True)
class Transitions:
    """Pairs for Q-learning, all float32: [N, S], [N, A], [N], [N, S] and [N] with 0 or 1."""

    observations: Floats
    actions: Floats
    rewards: Floats
    next_observations: Floats
    terminals: Floats
    held_out: HeldOut | None = None
    """Of a log: the episodes that these are not of."""


def read_recording(path: PathLike, spaces: Spaces | None = None) -> Recording:
    """Read and check an HDF5 file in D4RL's layout, against a task's sizes and bounds if given.

    Actions come back in [-1, 1], which are also the bounds without `spaces`. Without a `timeouts`
    key, as in D4RL's oldest files, episodes are cut after 1000 steps (or the task's time limit),
    where `d4rl.qlearning_dataset` cuts them.
    Raises DatasetError for whatever else is missing or wrong.
    """
    try:
        with h5py.File(path, "r") as stream:
            _check_layout(path, stream, spaces)
            present = _present(stream)
            columns = {key: _read_column(path, stream[key], key) for key in present}
    except FileNotFoundError as error:
        raise DatasetError(
            path, "file", "an HDF5 file", "nothing there", "Correct the path in the config."
        ) from error
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # h5py raises many kinds for a damaged file
        raise DatasetError(
            path,
            "file",
            "a readable HDF5 file",
            f"something else ({error})",
            "Delete it and download or write it again; it may have been cut short.",
        ) from error
    columns["actions"] = _narrowed(path, columns["actions"], spaces)
    if "timeouts" not in columns:
        horizon = spaces.horizon if spaces else HORIZON
        logger.warning("%s has no timeouts: episodes are cut after %d steps", path, horizon)
        columns["timeouts"] = timeouts_by_length(columns["terminals"], horizon)
    return Recording(**columns)


def _present(stream: h5py.File) -> list[str]:
    return [*REQUIRED, *(key for key in OPTIONAL if key in stream)]


def _check_layout(path: PathLike, stream: h5py.File, spaces: Spaces | None) -> None:
    """Everything that can be told without reading the rows."""
    for key in _present(stream):
        if not isinstance(stream.get(key), h5py.Dataset):
            raise DatasetError(
                path,
                key,
                "a dataset of that name",
                "the keys " + (", ".join(sorted(stream)) or "(none)"),
                f"D4RL's layout has {', '.join(REQUIRED)} and timeouts: rename or add {key}.",
            )
        _check_shape_and_dtype(path, stream[key], key, stream["observations"].shape)
    claimed = sum(stream[key].nbytes for key in _present(stream))
    there = Path(path).stat().st_size
    if claimed > LARGEST_RATIO * there:
        raise DatasetError(
            path,
            "file",
            f"data that fit into its {there} bytes",
            f"datasets that claim {claimed} bytes",
            "They were announced and never written: write or download the file again.",
        )
    rows = len(stream["observations"])
    if rows < 2:
        raise DatasetError(
            path,
            "observations",
            "at least 2 rows",
            f"{rows} rows",
            "Record more steps: a transition needs a next observation.",
        )
    if spaces is not None:
        task = spaces.task
        sizes = {"observations": spaces.observation_size, "actions": spaces.action_size}
        for key, size in sizes.items():
            if size not in (None, stream[key].shape[1]):
                raise DatasetError(
                    path,
                    key,
                    f"{size} columns for {task}",
                    f"{stream[key].shape[1]} columns",
                    f"Give a file of {task}, or name the task that the file is of.",
                )


def _check_shape_and_dtype(
    path: PathLike, dataset: h5py.Dataset, key: str, observations_shape: tuple[int, ...]
) -> None:
    dimensions = 2 if key in MATRICES else 1
    if dataset.ndim != dimensions:
        raise DatasetError(
            path,
            key,
            f"{dimensions} dimension{'s' if dimensions > 1 else ''}",
            f"shape {dataset.shape}",
            "Write one row a step: [N, size] for observations and actions, else [N].",
        )
    if key in FLAGS:
        expected, right = "bool (or 0 and 1 as integers)", dataset.dtype.kind in "biu"
    else:
        expected, right = "float32 (or float64)", dataset.dtype in (np.float32, np.float64)
    if not right:
        advice = f"Convert {key} before writing the file."
        raise DatasetError(path, key, expected, f"dtype {dataset.dtype}", advice)
    if len(dataset) != observations_shape[0]:
        raise DatasetError(
            path,
            key,
            f"{observations_shape[0]} rows, as many as observations",
            f"{len(dataset)} rows",
            "All keys describe the same steps: write them with one length.",
        )
    if key == "next_observations" and dataset.shape != observations_shape:
        raise DatasetError(
            path,
            key,
            f"{observations_shape[1]} columns, as many as observations",
            f"{dataset.shape[1]} columns",
            "Write what was observed after each step, or leave the key out.",
        )


def _read_column(path: PathLike, dataset: h5py.Dataset, key: str) -> NDArray[Any]:
    """One key's rows as float32 or bool, every value checked."""
    if key in FLAGS:
        flags = dataset[:]
        if flags.dtype != np.bool_:
            if not np.isin(flags, (0, 1)).all():
                raise DatasetError(
                    path,
                    key,
                    "0 and 1 only",
                    f"values from {flags.min()} to {flags.max()}",
                    f"Write {key} as booleans.",
                )
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
        raise DatasetError(
            path,
            key,
            "finite numbers",
            f"NaN or infinity in {int((~finite).sum())} rows, first in row {first}",
            "Remove the episodes that hold these rows (a simulation that blew up, perhaps).",
        )
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
        raise DatasetError(
            path,
            "actions",
            f"numbers in [{bounds[0]:g}, {bounds[1]:g}]",
            f"{actions.min():.3g} to {actions.max():.3g} in {int(outside.sum())} rows, first in "
            f"row {int(np.flatnonzero(outside)[0])}",
            "Clip them if the simulation clipped them too, or scale them to the task's range.",
        )
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


def q_learning_transitions(recording: Recording) -> Transitions:
    """The pairs of `d4rl.qlearning_dataset`, without its loop.

    A row whose successor was taken out of the file has the file's own next observation instead of
    the next row's, which belongs to another time.
    """
    keep = np.flatnonzero(~recording.timeouts[:-1])
    following = recording.observations[keep + 1]
    if replaced := _put_right(following, recording, keep):
        logger.warning(
            "%d rows are not followed by their next observation: rows were taken out, and "
            "next_observations is used for these",
            replaced,
        )
    return Transitions(
        observations=recording.observations[keep],
        actions=recording.actions[keep],
        rewards=recording.rewards[keep],
        next_observations=following,
        terminals=recording.terminals[keep].astype(np.float32),
    )


def _put_right(following: Floats, recording: Recording, keep: NDArray[np.int64]) -> int:
    """Put a file's own next observation where the following row's is another; how often."""
    if recording.next_observations is None:
        return 0
    replaced = 0
    for first in range(0, len(keep), BLOCK):  # a million rows at once would be copied five times
        rows, after = keep[first : first + BLOCK], following[first : first + BLOCK]
        own = recording.next_observations[rows]
        apart = (np.abs(own - after) > SAME * (1 + np.abs(after))).any(axis=1)
        apart &= ~recording.terminals[rows]  # masked, and in d4rl the next episode's first
        after[apart] = own[apart]
        replaced += int(apart.sum())
    return replaced


def write_transitions(path: PathLike, transitions: Transitions) -> None:
    """Write transitions.safetensors, replacing it at once."""
    columns = {key: value for key, value in vars(transitions).items() if key != "held_out"}
    if transitions.held_out:
        columns |= {f"{HELD_OUT}{key}": value for key, value in vars(transitions.held_out).items()}
    arrays = {key: np.ascontiguousarray(value) for key, value in columns.items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary)


def read_transitions(path: PathLike) -> Transitions:
    """Read what `write_transitions` wrote. Raises DatasetError for another file."""
    try:
        arrays = load_file(path)
        own = [key for key in arrays if key.startswith(HELD_OUT)]
        held = {key.removeprefix(HELD_OUT): arrays.pop(key) for key in own}
        return Transitions(**arrays, held_out=HeldOut(**held) if held else None)
    except (SafetensorError, OSError, TypeError) as error:
        raise DatasetError(
            path,
            "file",
            "transitions that rule rl_prepare wrote",
            f"something else ({error})",
            "Delete it to have it made again.",
        ) from error


def hold_out(path: PathLike, recording: Recording, share: float) -> tuple[Recording, HeldOut]:
    """What is left of a log for training, and the episodes that `chosen_episodes` holds out.

    Raises DatasetError where nothing would be left, or no action of those episodes varies.
    """
    ends = recording.episode_ends()
    starts = np.concatenate([[0], ends[:-1] + 1])
    chosen = chosen_episodes(len(ends), share)
    if len(chosen) == len(ends):
        raise DatasetError(
            path,
            "timeouts",
            f"episodes enough to hold {share:g} of them out",
            f"{len(ends)}",
            "Mark the last step of every episode, or cut the log into several.",
        )
    lengths = ends - starts + 1
    rows = np.repeat(np.isin(np.arange(len(ends)), chosen), lengths)
    held = HeldOut(
        recording.observations[rows], recording.actions[rows], np.cumsum(lengths[chosen]) - 1
    )
    if held.variance() == 0:
        raise DatasetError(
            path, "actions", "actions that vary", "one action alone in all held-out episodes",
            "There is nothing to predict: log what the robot was told to do.",
        )  # fmt: skip
    kept: dict[str, Any] = {
        key: None if value is None else value[~rows] for key, value in vars(recording).items()
    }
    return Recording(**kept), held


def dataset_summary(
    recording: Recording, task: Task, source: str, file: str, held_out: HeldOut | None = None
) -> pd.DataFrame:
    """One row that describes the data: sizes, and returns of its episodes.

    Statistics of returns are over all episodes, split at terminals and time-outs; a recording that
    stops in the middle of an episode contributes that part as an episode.
    """
    ends = recording.episode_ends()
    starts = np.concatenate([[0], ends[:-1] + 1])
    returns = np.add.reduceat(recording.rewards.astype(np.float64), starts)
    scores = task.score(returns) if task.environment else np.full_like(returns, np.nan)
    row = {
        "task": task.name,
        "source": source,
        "file": file,
        "transitions": int((~recording.timeouts[:-1]).sum()),
        "episodes": len(ends),
        "return_mean": returns.mean(),
        "return_std": returns.std(),
        "score_normalised_mean": scores.mean(),
        "score_normalised_std": scores.std(),
        "terminals": int(recording.terminals.sum()),
        "timeouts": int(recording.timeouts.sum()),
        "held_out_episodes": len(held_out.ends) if held_out else 0,
    }
    return pd.DataFrame([row])


def prepare(
    source_path: PathLike, task: Task, source: str, transitions_path: PathLike, table_path: PathLike
) -> None:
    """Check one HDF5 file and write the transitions and the one-row table that it gives."""
    recording, held = read_recording(source_path, spaces_of(task)), None
    if task.environment is None:
        recording, held = hold_out(source_path, recording, task.held_out)
    transitions = replace(q_learning_transitions(recording), held_out=held)
    if len(transitions.rewards) == 0:
        raise DatasetError(
            source_path,
            "timeouts",
            "at least one row that is not a time-out",
            "time-outs only",
            "Mark only the steps at which the time limit cut an episode.",
        )
    write_transitions(transitions_path, transitions)
    summary = dataset_summary(recording, task, source, Path(source_path).name, held)
    write_csv(summary, table_path)
    row = summary.iloc[0]
    logger.info(
        "%s: %d transitions, %d episodes, return %.1f (standard deviation %.1f)",
        source_path,
        row["transitions"],
        row["episodes"],
        row["return_mean"],
        row["return_std"],
    )
    if held:
        logger.info(
            "no simulator: %d episodes, %d steps, are held out and policies are scored by them",
            len(held.ends),
            len(held.actions),
        )

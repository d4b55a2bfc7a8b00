"""Recordings turned into pairs for Q-learning, checked and kept.

`q_learning_transitions` gives what `d4rl.qlearning_dataset` gives (D4RL, d4rl/__init__.py): the
next observation is the next row's, the last row and every row cut by a time-out are dropped, and
terminals stay, with whatever row follows as their (masked) next observation. Only where a file has
`next_observations` and rows were taken out of it is the file's own next observation used.
"""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path, write_csv
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.recording import DatasetError, Floats, PathLike, Recording, read_recording
from triptych.rl.tasks.task import Task

logger = logging.getLogger(__name__)

SAME = 1e-4
"""How far two observations may be apart, over one and their size, that are one but for rounding."""
STORED = "held_out."
"""How the names of validation arrays begin, in the file of transitions."""
BLOCK = 1 << 16


@dataclass(frozen=True)
class Validation:
    """Episodes of a log that nothing is trained on, one after another: [N, S], [N, A] in [-1, 1].

    ends: indices of the last step of each.
    """

    observations: Floats
    actions: Floats
    ends: NDArray[np.int64]

    def variance(self) -> float:
        """Of all steps' actions, summed over the numbers of an action."""
        return float(self.actions.var(axis=0, dtype=np.float64).sum())


@dataclass(frozen=True)
class Transitions:
    """Pairs for Q-learning, all float32: [N, S], [N, A], [N], [N, S] and [N] with 0 or 1."""

    observations: Floats
    actions: Floats
    rewards: Floats
    next_observations: Floats
    terminals: Floats
    validation: Validation | None = None
    """Of a log: the episodes that these are not of."""


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
    columns = {key: value for key, value in vars(transitions).items() if key != "validation"}
    if transitions.validation:
        columns |= {f"{STORED}{key}": value for key, value in vars(transitions.validation).items()}
    arrays = {key: np.ascontiguousarray(value) for key, value in columns.items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary)


def read_transitions(path: PathLike) -> Transitions:
    """Read what `write_transitions` wrote. Raises DatasetError for another file."""
    try:
        arrays = load_file(path)
        own = [key for key in arrays if key.startswith(STORED)]
        held = {key.removeprefix(STORED): arrays.pop(key) for key in own}
        return Transitions(**arrays, validation=Validation(**held) if held else None)
    except (SafetensorError, OSError, TypeError) as error:
        expected = "transitions that rule rl_prepare wrote"
        found = f"something else ({error})"
        advice = "Delete it to have it made again."
        raise DatasetError(path, "file", expected, found, advice) from error


def chosen_episodes(episodes: int, share: float) -> NDArray[np.int64]:
    """Which of a log's episodes are held out: a share of them at random, at least one.

    It depends on the number of episodes alone.
    """
    count = max(1, round(share * episodes))
    return np.sort(np.random.default_rng(0).permutation(episodes)[:count])


def hold_out(path: PathLike, recording: Recording, share: float) -> tuple[Recording, Validation]:
    """What is left of a log for training, and the episodes that `chosen_episodes` holds out.

    Raises DatasetError where nothing would be left, or no action of those episodes varies.
    """
    ends = recording.episode_ends()
    starts = np.concatenate([[0], ends[:-1] + 1])
    chosen = chosen_episodes(len(ends), share)
    if len(chosen) == len(ends):
        expected = f"episodes enough to hold {share:g} of them out"
        found = f"{len(ends)}"
        advice = "Mark the last step of every episode, or cut the log into several."
        raise DatasetError(path, "timeouts", expected, found, advice)
    lengths = ends - starts + 1
    rows = np.repeat(np.isin(np.arange(len(ends)), chosen), lengths)
    held = Validation(
        recording.observations[rows], recording.actions[rows], np.cumsum(lengths[chosen]) - 1
    )
    if held.variance() == 0:
        found = "one action alone in all held-out episodes"
        advice = "There is nothing to predict: log what the robot was told to do."
        raise DatasetError(path, "actions", "actions that vary", found, advice)
    kept: dict[str, Any] = {
        key: None if value is None else value[~rows] for key, value in vars(recording).items()
    }
    return Recording(**kept), held


def dataset_summary(
    recording: Recording, task: Task, source: str, file: str, validation: Validation | None = None
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
        "held_out_episodes": len(validation.ends) if validation else 0,
    }
    return pd.DataFrame([row])


def prepare(
    source_path: PathLike, task: Task, source: str, transitions_path: PathLike, table_path: PathLike
) -> None:
    """Check one HDF5 file and write the transitions and the one-row table that it gives."""
    recording, held = read_recording(source_path, spaces_of(task)), None
    if task.environment is None:
        recording, held = hold_out(source_path, recording, task.validation)
    transitions = replace(q_learning_transitions(recording), validation=held)
    if len(transitions.rewards) == 0:
        expected = "at least one row that is not a time-out"
        found = "time-outs only"
        advice = "Mark only the steps at which the time limit cut an episode."
        raise DatasetError(source_path, "timeouts", expected, found, advice)
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

"""Recordings turned into pairs for Q-learning, checked and kept."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path, write_csv
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.recording import DatasetError, Floats, PathLike, Recording, read_recording
from triptych.rl.tasks.task import Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Transitions:
    """Pairs for Q-learning, all float32: [N, S], [N, A], [N], [N, S] and [N] with 0 or 1."""

    observations: Floats
    actions: Floats
    rewards: Floats
    next_observations: Floats
    terminals: Floats


def q_learning_transitions(recording: Recording) -> Transitions:
    """The pairs of `d4rl.qlearning_dataset` (D4RL, d4rl/__init__.py), without its loop.

    The next observation is the next row's; the last row and every row cut by a time-out are
    dropped, and terminals stay, with whatever row follows as their (masked) next observation.
    """
    keep = np.flatnonzero(~recording.timeouts[:-1])
    return Transitions(
        observations=recording.observations[keep],
        actions=recording.actions[keep],
        rewards=recording.rewards[keep],
        next_observations=recording.observations[keep + 1],
        terminals=recording.terminals[keep].astype(np.float32),
    )


def write_transitions(path: PathLike, transitions: Transitions) -> None:
    """Write transitions.safetensors, replacing it at once."""
    arrays = {key: np.ascontiguousarray(value) for key, value in vars(transitions).items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary)


def read_transitions(path: PathLike, max_transitions: int | None = None) -> Transitions:
    """Read the file of `write_transitions`, or only the first `max_transitions` of it.

    Raises DatasetError for another file, and where it has fewer.
    """
    try:
        arrays = load_file(path)
        if (count := len(arrays["rewards"])) < (max_transitions or 0):
            expected = f"{max_transitions} transitions or more"
            raise DatasetError(path, "rewards", expected, f"{count}")
        return Transitions(**{key: value[:max_transitions] for key, value in arrays.items()})
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        expected, found = "transitions that rule rl_prepare wrote", f"something else ({error})"
        advice = "Delete it to have it made again."
        raise DatasetError(path, "file", expected, found, advice) from error


def dataset_summary(recording: Recording, task: Task, source: str, file: str) -> pd.DataFrame:
    """One row that describes the data: sizes, and returns of its episodes, split at terminals and
    time-outs; a part of an episode at the end counts as one."""
    ends = recording.episode_ends()
    starts = np.concatenate([[0], ends[:-1] + 1])
    returns = np.add.reduceat(recording.rewards.astype(np.float64), starts)
    scores = task.score(returns)
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
    }
    return pd.DataFrame([row])


def prepare(
    source_path: PathLike, task: Task, source: str, transitions_path: PathLike, table_path: PathLike
) -> None:
    """Check one HDF5 file and write the transitions and the one-row table that it gives."""
    recording = read_recording(source_path, spaces_of(task))
    transitions = q_learning_transitions(recording)
    if len(transitions.rewards) == 0:
        expected = "at least one row that is not a time-out"
        raise DatasetError(source_path, "timeouts", expected, "time-outs only")
    write_transitions(transitions_path, transitions)
    summary = dataset_summary(recording, task, source, Path(source_path).name)
    write_csv(summary, table_path)
    logger.info("%s: %d transitions", source_path, len(transitions.rewards))

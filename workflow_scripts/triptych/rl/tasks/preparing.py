"""Recordings checked and turned into pairs for Q-learning."""

import logging
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.core.files import sha256_of, write_csv
from triptych.rl.tasks.consistency import Doubts, check_recording
from triptych.rl.tasks.environments import (
    recorded_elsewhere,
    terminates_within,
    try_environment,
)
from triptych.rl.tasks.recording import Recording, read_recording, recorded_environment
from triptych.rl.tasks.spaces import Spaces, brief
from triptych.rl.tasks.task import UNLIMITED, Task
from triptych.rl.tasks.transitions import (
    DatasetError,
    PathLike,
    Transitions,
    write_transitions,
)

logger = logging.getLogger(__name__)

UNWITNESSED = 10_000
"""Steps after which episodes are cut at the earliest where nothing shows a limit."""


class Horizon(NamedTuple):
    """Steps after which an evaluation cuts an episode, and what says so."""

    steps: int
    source: str


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
    source_path: PathLike,
    task: Task,
    source: str,
    transitions_path: PathLike,
    table_path: PathLike,
    d4rl_digests: Collection[str] = (),
    code: Sequence[str] = (),
    accepted: Collection[str] = (),
) -> None:
    """Write the transitions and the one-row table of one HDF5 file.

    A task's environment is tried before, and the file is checked against it. d4rl_digests: SHA-256
    of D4RL's files, which are used as D4RL's loader uses them. code: the user's files whose edit
    trains again. accepted: names of checks that only warn, the task's `accept`. Raises InputError
    or DatasetError for what is wrong with either.
    """
    if code:
        logger.info(
            "%s: an edit of %s trains again; files that these read and don't name trigger nothing",
            task.name,
            brief(", ".join(code)),
        )
    spaces = try_environment(task, accepted)
    published = Path(source_path).is_file() and sha256_of(source_path) in d4rl_digests
    recorded = recorded_environment(source_path)
    doubts = Doubts(source_path, task.name, accepted, published)
    if recorded:
        other, advice = recorded_elsewhere(task, recorded)
        if other:
            doubts.tell("wrappers", "env_spec", f"data of {task.environment}", other, advice)
    recording = read_recording(source_path, spaces, published, accepted)
    terminates = partial(terminates_within, task)
    check_recording(doubts, recording, spaces.horizon, terminates)
    horizon = _checked_horizon(source_path, recording, spaces, published)
    transitions = q_learning_transitions(recording)
    if len(transitions.rewards) == 0:
        expected = "at least one row that is not a time-out"
        raise DatasetError(source_path, "timeouts", expected, "time-outs only")
    write_transitions(transitions_path, transitions, None if spaces.horizon else horizon.steps)
    summary = dataset_summary(recording, task, source, Path(source_path).name)
    write_csv(summary.assign(limit_steps=horizon.steps, limit_from=horizon.source), table_path)
    logger.info("%s: %d transitions", source_path, len(transitions.rewards))


def _checked_horizon(
    path: PathLike, recording: Recording, spaces: Spaces, published: bool
) -> Horizon:
    """Steps after which an evaluation cuts an episode.

    Raises DatasetError for an episode beyond a task's limit, or without limit or end.
    """
    ends = recording.episode_ends()
    lengths = np.diff(ends, prepend=-1)
    longest = int(lengths.argmax())
    found = (
        f"{lengths[longest]} steps without an end, from row {ends[longest] + 1 - lengths[longest]}"
    )
    if spaces.horizon is None:
        if not (recording.terminals | recording.timeouts).any():
            expected = f"the ends of episodes, as {spaces.task} has no time limit"
            advice = f"Mark them, or set rl.tasks.{spaces.task}.options.max_episode_steps."
            raise DatasetError(path, "timeouts", expected, found, advice)
        return _witnessed_horizon(recording, ends, lengths, spaces.task)
    if lengths[longest] > spaces.horizon:
        expected = f"episodes of at most {spaces.horizon} steps, the time limit of {spaces.task}"
        if not published:
            advice = "Mark where they were cut, or set options.max_episode_steps of the task."
            raise DatasetError(path, "timeouts", expected, found, advice)
        logger.warning("%s: expected %s, found %s; used as it is", path, expected, found)
    return Horizon(spaces.horizon, "environment")


def _witnessed_horizon(
    recording: Recording, ends: NDArray[np.int64], lengths: NDArray[np.int64], task: str
) -> Horizon:
    """The limit of an environment that names none: the longest episode, if a time-out cut it.

    Where the end of the file did, it is a limit only if no episode ended by itself.
    """
    cut = recording.timeouts[ends] & ~recording.terminals[ends]
    if recording.terminals.any():
        cut[-1] &= ends[-1] < len(recording.rewards) - 1
    longest = int(lengths.max())
    if lengths[cut].max(initial=0) == longest:
        logger.info("%s: episodes end after %d steps, as its longest time-out did", task, longest)
        return Horizon(longest, "time-outs")
    steps = max(UNWITNESSED, longest)
    logger.warning(
        "%s: its environment has no time limit, and no time-out of the recording shows one: "
        "episodes that don't end by themselves are cut after %d steps, unless "
        "options.max_episode_steps sets a limit",
        task,
        steps,
    )
    return Horizon(steps, UNLIMITED)

"""Recordings checked and turned into pairs for Q-learning."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from triptych.core.files import sha256_of, write_csv
from triptych.rl.tasks.environments import (
    recorded_elsewhere,
    terminates_within,
    try_environment,
)
from triptych.rl.tasks.recording import Recording, read_recording, recorded_environment
from triptych.rl.tasks.spaces import Spaces
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
EQUAL_ROWS = 10
"""Length of a run of equal rows from which it counts as never written."""
EQUAL_SHARE = 0.01
"""Largest share of rows in such runs, where none is at the end."""
SAMPLE = 20_000
"""Rows by whose differences the order is judged."""
LAGS = (*range(1, 257), 320, 384, 400, 500, 512, 640, 768, 1000, 1024, 1536, 2000, 2048, 4096)
"""Numbers of environments that may have been written in turn."""
ENOUGH = 200
"""Rows from which the order is judged."""
FAR, NEAR, NEARER = 0.85, 0.75, 0.5
"""In turn: rows next to each other differ by FAR of the largest difference between fewer rows than
there are environments, and one environment's next rows by at most NEAR of that; by NEARER of two or
three, as a gait of two or three rows a stride looks like them."""
GROWTH = 1.05
"""One environment's rows after twice as many steps differ by this at least; a motion that repeats
itself has none."""
LEAST_ROWS = 10
"""Rows before ends of episodes from which these tell whose ends they are."""
WRITE_TIMEOUTS = "Write what gymnasium calls truncated as timeouts, not as terminals."
CONSECUTIVE = 0.45
"""In turn, with one limit for all: share of ends that follow another end at once."""


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
    accepted: Collection[str] = (),
) -> None:
    """Write the transitions and the one-row table of one HDF5 file.

    A task's environment is tried before, and the file is checked against it. d4rl_digests: SHA-256
    of D4RL's files, which are used as D4RL's loader uses them. accepted: names of
    checks that only warn, the task's `accept`. Raises InputError or DatasetError for what is wrong
    with either.
    """
    spaces = try_environment(task, accepted)
    published = Path(source_path).is_file() and sha256_of(source_path) in d4rl_digests
    recorded = recorded_environment(source_path)
    doubts = Doubts(source_path, task.name, accepted, published)
    if recorded:
        other, advice = recorded_elsewhere(task, recorded)
        if other:
            doubts.tell("wrappers", "env_spec", f"data of {task.environment}", other, advice)
    recording = read_recording(source_path, spaces, published, accepted)
    check_recording(doubts, recording, task, spaces.horizon)
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


@dataclass(frozen=True)
class Doubts:
    """A recording of a task, and the names of the checks that only warn: `accept` in the config."""

    path: PathLike
    task: str
    accepted: Collection[str] = ()
    published: bool = False

    def tell(self, check: str, key: str, expected: str, found: str, advice: str) -> None:
        """Raise DatasetError, or warn where the check is accepted or the file is D4RL's own."""
        if self.published or check in self.accepted:
            logger.warning(
                "%s: %s: expected %s, found %s; used as it is", self.path, key, expected, found
            )
            return
        known = f"{advice} If the file is right: rl.tasks.{self.task}.accept: [{check}]."
        raise DatasetError(self.path, key, expected, found, known)


def check_recording(doubts: Doubts, recording: Recording, task: Task, limit: int | None) -> None:
    """Raise DatasetError for rows that were never written or whose flags or order can't be right.

    limit: steps after which the environment cuts its episodes, if it does. Where it has none and
    all terminals have one distance, the environment is tried.
    """
    _check_filled(doubts, recording)
    if limit is not None:
        _check_limit(doubts, recording, limit)
    elif (steps := _only_length(recording)) and not terminates_within(task, steps):
        doubts.tell(
            "limits",
            "terminals",
            f"an environment that ends an episode by itself within {steps} steps",
            f"terminals after each {steps} steps, and no end in as many steps of a trial",
            WRITE_TIMEOUTS,
        )
    if not recording.followed and in_turn(recording):
        doubts.tell(
            "order",
            "observations",
            "rows in the order of one episode after another",
            "rows next to each other that differ as those of several environments in turn",
            "Write each environment's episodes one after another, or add next_observations.",
        )


def _check_filled(doubts: Doubts, recording: Recording) -> None:
    """Doubt a buffer made in advance and not filled: runs of equal rows."""
    columns = recording.observations, recording.actions, recording.rewards[:, None]
    same = np.logical_and.reduce([(rows[1:] == rows[:-1]).all(1) for rows in columns])
    starts = np.concatenate([[0], np.flatnonzero(~same) + 1])
    lengths = np.diff(starts, append=len(same) + 1)
    longest, count = int(lengths.argmax()), int(lengths[lengths >= EQUAL_ROWS].sum())
    if lengths[-1] >= EQUAL_ROWS or count > EQUAL_SHARE * (len(same) + 1):
        doubts.tell(
            "equal_rows",
            "observations",
            "rows that steps were written to",
            f"{count} in runs of equal rows, the longest of {lengths[longest]} from row "
            f"{starts[longest]}",
            "Leave out the rows of the buffer that no step was written to.",
        )


def _check_limit(doubts: Doubts, recording: Recording, limit: int) -> None:
    """Doubt terminals where the time limit cut episodes."""
    ends = recording.episode_ends()
    at_limit = ends[np.diff(ends, prepend=-1) == limit]
    count = int(recording.terminals[at_limit].sum())
    if count > 1 and count > recording.timeouts[at_limit].sum():
        doubts.tell(
            "limits",
            "terminals",
            f"time-outs where the limit of {limit} steps cuts an episode",
            f"{count} terminals after exactly {limit} steps, first in row {at_limit[0]}",
            WRITE_TIMEOUTS,
        )


def _only_length(recording: Recording) -> int:
    """Steps of all episodes but the last, where several end by terminals after as many; else 0."""
    ends = recording.episode_ends()
    lengths = np.diff(ends, prepend=-1)[:-1]
    alike = len(lengths) > 2 and (lengths == lengths[0]).all()
    return int(lengths[0]) if alike and recording.terminals[ends[:-1]].all() else 0


def in_turn(recording: Recording) -> bool:
    """Whether rows next to each other seem to be of several environments, written in turn."""
    ends = recording.episode_ends()
    if 4 <= len(ends) <= len(recording.rewards) / 2 and (np.diff(ends) == 1).mean() >= CONSECUTIVE:
        return True
    rows = recording.observations[:SAMPLE].astype(np.float64)
    spread = rows.std(0)
    scaled: NDArray[np.float64] = rows[:, spread > 0] / spread[spread > 0]
    if len(rows) < ENOUGH or not scaled.size:
        return False
    lags = [lag for lag in LAGS if lag <= len(scaled) // 4]
    gaps = {lag: np.abs(scaled[lag:] - scaled[:-lag]).clip(max=3).mean() for lag in lags}
    near = [lag for lag in lags[1:] if gaps[lag] <= gaps[1] * (NEAR if lag > 3 else NEARER)]
    if not near or gaps[1] < FAR * max(gaps[lag] for lag in lags if lag < max(near[0], 4)):
        return False
    count = near[0]
    repeats = gaps.get(2 * count, np.inf) < GROWTH * gaps[count]
    alike = count > 3 or _goes_on(scaled, ends[ends < len(scaled) - count], count)
    return alike and not repeats


def _goes_on(rows: NDArray[np.float64], ends: NDArray[np.int64], count: int) -> bool:
    """Whether rows `count` apart are as near where an episode ends between them as elsewhere: only
    then is the end that of another environment.

    True where too few ends tell.
    """
    before = (ends[:, None] - np.arange(1, count)).ravel()
    before = np.setdiff1d(before[before >= 0], ends)
    if len(before) < LEAST_ROWS:
        return True
    across, all_over = (
        np.abs(rows[first + count] - rows[first]).clip(max=3).mean()
        for first in (before, np.arange(len(rows) - count))
    )
    beside = np.abs(rows[1:] - rows[:-1]).clip(max=3).mean()
    return bool(across <= (all_over + beside) / 2)

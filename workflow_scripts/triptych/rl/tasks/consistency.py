"""Checks of whether the rows of a recording agree with each other and with their task."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triptych.rl.tasks.recording import Recording
from triptych.rl.tasks.transitions import DatasetError, PathLike

logger = logging.getLogger(__name__)

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


def check_recording(
    doubts: Doubts,
    recording: Recording,
    limit: int | None,
    terminates: Callable[[int], bool] = lambda steps: True,
) -> None:
    """Raise DatasetError for rows that were never written or whose flags or order can't be right.

    limit: steps after which the environment cuts its episodes, if it does; terminates: whether it
    ends one by itself within so many steps, which is asked where it has no limit and all terminals
    have one distance.
    """
    _check_filled(doubts, recording)
    if limit is not None:
        _check_limit(doubts, recording, limit)
    elif (steps := _only_length(recording)) and not terminates(steps):
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
    """Doubt a buffer made in advance and not filled: a run of equal rows, or copies of others."""
    columns = recording.observations, recording.actions, recording.rewards[:, None]
    same = np.logical_and.reduce([(rows[1:] == rows[:-1]).all(1) for rows in columns])
    starts = np.concatenate([[0], np.flatnonzero(~same) + 1])
    lengths = np.diff(starts, append=len(same) + 1)
    longest, count = int(lengths.argmax()), int(lengths[lengths >= EQUAL_ROWS].sum())
    found = f"{count} in runs of equal rows, the longest of {lengths[longest]}"
    found += f" from row {starts[longest]}"
    if lengths[-1] < EQUAL_ROWS and count <= EQUAL_SHARE * (len(same) + 1):
        period = _period(recording)
        if period is None:
            return
        found = f"rows that are copies of those before them, from row {period}"
    advice = "Leave out the rows of the buffer that no step was written to."
    doubts.tell("equal_rows", "observations", "rows that steps were written to", found, advice)


def _period(recording: Recording) -> int | None:
    """The row from which all are copies of the rows before, if there is one."""
    columns = recording.observations, recording.actions, recording.rewards[:, None]
    candidates = np.flatnonzero((recording.observations == recording.observations[0]).all(1))
    for start in candidates[(candidates > 0) & (candidates < len(recording.rewards) - 1)][:20]:
        if all((rows[start:] == rows[:-start]).all() for rows in columns):
            return int(start)
    return None


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

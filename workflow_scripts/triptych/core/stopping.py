"""A wish to stop, from outside (a signal) or from the clock, that a loop asks about."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

INFRASTRUCTURE = True

SAVED_EXIT_CODE = 75
"""EX_TEMPFAIL: the job saved its state and wants to be started again."""

MARGIN_SECONDS = 90.0
"""How long before a time limit a job stops: a checkpoint takes seconds, schedulers are late."""

SCHEDULERS = frozenset(
    ["SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "SGE_TASK_ID", "FLUX_JOB_ID", "OAR_JOB_ID"]
)
"""Set in a job by SLURM, LSF, PBS, Grid Engine, Flux and OAR, which hold it to its time."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class Stopped(SystemExit):
    """Raised by a job that has saved its state because it was asked to stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(SAVED_EXIT_CODE)
        self.reason = reason

    def __str__(self) -> str:
        return f"stopped by {self.reason} after saving; run again to resume"


class Interrupted(Exception):
    """Raised, with the reason, by work that is given up because its job is asked to stop."""


class Stop(Protocol):
    """Something that may ask to stop: a `StopRequest`, or a test's."""

    @property
    def reason(self) -> str | None:
        """Why to stop, or None to go on."""


class StopRequest:
    """Turns SIGTERM, SIGINT and SIGUSR1 into `reason`, to be asked for between steps.

    `limit_minutes` is the scheduler's time limit for this job, counted from now, if there is one.
    """

    def __init__(self, limit_minutes: float | None = None) -> None:
        self._signal: str | None = None
        self._deadline: float | None = None
        if limit_minutes is not None:
            seconds = 60 * limit_minutes
            self._deadline = time.monotonic() + max(0.5 * seconds, seconds - MARGIN_SECONDS)
        for number in SIGNALS:
            signal.signal(number, self._catch)

    @property
    def reason(self) -> str | None:
        """Why to stop, or None to go on."""
        if self._signal is None and self._deadline and time.monotonic() > self._deadline:
            return "its time limit"
        return self._signal

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._signal = signal.Signals(number).name


@contextmanager
def listening() -> Iterator[StopRequest]:
    """A `StopRequest` while the block lasts; afterwards signals do what they did before."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield StopRequest()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def scheduler_limit(runtime_minutes: float | None) -> float | None:
    """Minutes that this job may take from now, or None for no limit.

    That is `runtime` of its rule under a scheduler, and in any case no longer than to
    TRIPTYCH_DEADLINE, seconds since 1970. Raises ValueError for a deadline that is no number.
    """
    enforced = not SCHEDULERS.isdisjoint(os.environ)
    limits = [runtime_minutes] if enforced and runtime_minutes is not None else []
    if deadline := os.environ.get("TRIPTYCH_DEADLINE"):
        try:
            limits.append((float(deadline) - time.time()) / 60)
        except ValueError:
            raise ValueError(
                f"TRIPTYCH_DEADLINE is {deadline!r}; expected seconds since 1970, as "
                "`date -d 'tomorrow 7:00' +%s` prints them"
            ) from None
    return min(limits, default=None)

"""Requests to stop, by a signal or a time limit, which loops check between steps."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

INFRASTRUCTURE = True

SAVED_EXIT_CODE = 75
"""Exit code of a job that saved its state and should be started again (EX_TEMPFAIL)."""

MARGIN_SECONDS = 90.0
"""Seconds before a time limit at which a job stops: saving takes seconds, schedulers are late."""

SCHEDULERS = frozenset(
    ["SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "SGE_TASK_ID", "FLUX_JOB_ID", "OAR_JOB_ID"]
)
"""Variables of SLURM, LSF, PBS, Grid Engine, Flux and OAR in jobs whose time they limit."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)

SAVED = "after saving; run again to resume"
"""How the message of a job ends that was stopped."""


class Stopped(SystemExit):
    """A job has saved its state because of a request to stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(SAVED_EXIT_CODE)
        self.reason = reason

    def __str__(self) -> str:
        return f"stopped by {self.reason} {SAVED}"


class Interrupted(Exception):
    """Work was abandoned because of a request to stop; the text is the reason."""


class Stop(Protocol):
    """A source of requests to stop: a `StopRequest`, or a test's."""

    @property
    def reason(self) -> str | None:
        """Why to stop, or None to go on."""


class StopRequest:
    """Turns SIGTERM, SIGINT, SIGUSR1, SIGHUP and a time limit into `reason`.

    A SIGHUP that is ignored, as under nohup, stays so.
    limit_minutes: the scheduler's time limit for this job, counted from now, or None.
    """

    def __init__(self, limit_minutes: float | None = None) -> None:
        self._signal: str | None = None
        self._deadline: float | None = None
        if limit_minutes is not None:
            seconds = 60 * limit_minutes
            self._deadline = time.monotonic() + max(0.5 * seconds, seconds - MARGIN_SECONDS)
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
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
def interruptible() -> Iterator[None]:
    """Let a signal for which this process has a handler end the block, too: by Interrupted, after
    that handler. For waits that may never end; only in the main thread."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}

    def interrupt(number: int, frame: FrameType | None) -> None:
        handlers[signal.Signals(number)](number, frame)  # type: ignore[operator,misc]
        raise Interrupted(signal.Signals(number).name)

    caught = [number for number, handler in handlers.items() if callable(handler)]
    try:
        for number in caught:
            signal.signal(number, interrupt)
        yield
    finally:
        for number in caught:
            signal.signal(number, handlers[number])


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Yield a `StopRequest`; restore the handlers of signals at the end of the block."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield StopRequest()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def scheduler_limit(runtime_minutes: float | None) -> float | None:
    """Minutes that this job may take from now, or None for no limit.

    Under a scheduler that is the `runtime` of its rule. TRIPTYCH_DEADLINE, in seconds since 1970,
    limits it in any case. Raises ValueError for a deadline that is no number.
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

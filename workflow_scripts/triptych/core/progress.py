"""Progress of a long loop: a bar on a terminal, a line every 20 seconds in a log; its speed."""

import logging
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

INFRASTRUCTURE = True

EVERY_SECONDS = 20.0
"""Between two lines of a log."""

logger = logging.getLogger(__name__)


class Progress:
    """Counts towards `total` units of work; a single unit needs no count.

    tqdm draws a bar on a terminal. Elsewhere a line with the rate and the remaining time is logged
    every EVERY_SECONDS, and the last state at the end of the block.

    work: what so many units cost together, for the remaining time of units that differ
    """

    def __init__(
        self,
        what: str,
        total: int,
        unit: str,
        done: int = 0,
        work: Callable[[int], float] = float,
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._done = self._start = self._said = done
        self._skipped = 0
        self._work = work
        self._began = self._logged = time.monotonic()
        terminal = sys.__stderr__
        shown = terminal is not None and terminal.isatty() and logger.isEnabledFor(logging.INFO)
        self._bar = tqdm(
            desc=what,
            total=work(total),
            file=terminal,
            disable=total == 1 or not shown,
            initial=work(done),
            bar_format="{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]",
        )

    def __enter__(self) -> "Progress":
        return self

    def restart(self) -> None:
        """Measure the rate from here on: what went before, as loading a model, comes once."""
        self._start, self._began = self._done, time.monotonic()
        self._bar.unpause()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._bar.close()
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if self._total > 1 and self._said != self._done and not interrupted:
            self._log()

    @property
    def done(self) -> int:
        """Units that were counted."""
        return self._done

    def skip(self, units: int = 1) -> None:
        """Leave `units` out: they take no more time, and are not counted."""
        self._skipped += units

    def advance(self, units: int = 1, note: str = "") -> None:
        """Count `units` more; `note` follows the figures."""
        self._done += units
        self._total = max(self._total, self._done)  # a film may have more than it promises
        self._bar.total = self._work(self._total - self._skipped)
        count = f"{self._done} of {self._total} {self._unit}"
        self._bar.set_postfix_str(f"{count} {note}" if note else count, refresh=False)
        self._bar.update(self._work(self._done) - self._work(self._done - units))
        if self._total > 1 and time.monotonic() - self._logged >= EVERY_SECONDS:
            self._log(note)

    def _log(self, note: str = "") -> None:
        self._logged, self._said = time.monotonic(), self._done
        seconds = self._logged - self._began
        rate = (self._done - self._start) / max(1e-9, seconds)
        ends = self._start, self._done, self._total - self._skipped
        start, done, total = map(self._work, ends)
        rest = "no progress yet"
        if done > start:
            rest = f"{seconds * (total - done) / (done - start):.0f} s left"
        count = f"{self._what}: {self._done} of {self._total} {self._unit}"
        logger.info("%s (%.1f a second, %s)%s", count, rate, rest, f" {note}" if note else "")


_paces: list[dict[str, Any]] = []


def measured_paces() -> list[dict[str, Any]]:
    """Speed of every training that this process ran, for provenance: name, unit, steps measured,
    seconds_per_step (median; without evaluations, saves and the first measurement)."""
    return [pace.copy() for pace in _paces]


class Pace:
    """Seconds per step, measured between moments at which the device has finished its work."""

    def __init__(self, done: int) -> None:
        self._laps: list[tuple[int, float]] = []
        self.restart(done)

    def restart(self, done: int) -> None:
        """Start a measurement here, leaving out the time since the last step."""
        self._from, self._began = done, time.perf_counter()

    def lap(self, done: int) -> None:
        """Time the steps since the last call, after their results have been read."""
        if done > self._from:
            seconds = time.perf_counter() - self._began
            self._laps.append((done - self._from, seconds / (done - self._from)))
        self.restart(done)

    def note(self, name: str, unit: str) -> None:
        """Record the median for `measured_paces`, if any step was timed."""
        laps = self._laps[1:] or self._laps
        if laps:
            seconds = statistics.median(pace for _, pace in laps)
            steps = sum(count for count, _ in laps)
            _paces.append({"name": name, "unit": unit, "steps": steps, "seconds_per_step": seconds})

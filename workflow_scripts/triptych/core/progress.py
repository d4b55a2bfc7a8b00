"""Progress of a long loop: a bar on a terminal, now and then a line in a log."""

import logging
import sys
import time

from tqdm import tqdm

logger = logging.getLogger(__name__)


class Progress:
    """Counts towards `total` units of work.

    On a terminal tqdm draws a bar; anywhere else a line with the rate and the remaining time is
    logged every `every` seconds, and the last state when the block ends.
    """

    def __init__(
        self, what: str, total: int, unit: str, done: int = 0, every: float = 20.0
    ) -> None:
        self._what, self._total, self._unit, self._every = what, total, unit, every
        self._done = self._start = done
        self._began = self._logged = time.monotonic()
        terminal = sys.__stderr__
        hidden = terminal is None or not terminal.isatty()
        self._bar = tqdm(None, what, total, file=terminal, disable=hidden, unit=unit, initial=done)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()
        self._log()

    def advance(self, units: int = 1, note: str = "") -> None:
        """Count `units` more; `note` stands behind the figures."""
        self._done += units
        self._bar.update(units)
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        if time.monotonic() - self._logged >= self._every:
            self._log(note)

    def _log(self, note: str = "") -> None:
        self._logged = time.monotonic()
        rate = (self._done - self._start) / max(1e-9, self._logged - self._began)
        left = (self._total - self._done) / rate if rate > 0 else float("inf")
        eta = f"{left:.0f} s left" if left < float("inf") else "no progress yet"
        done = f"{self._what}: {self._done} of {self._total} {self._unit}"
        logger.info("%s (%.1f a second, %s)%s", done, rate, eta, f" {note}" if note else "")

"""How fast and how many at once a server is asked."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

logger = logging.getLogger(__name__)

Nap = Callable[[float], Awaitable[None]]


class RateLimit:
    """Lets callers through one by one, at most so many a minute, evenly spaced."""

    def __init__(self, requests_per_minute: float, nap: Nap) -> None:
        self._interval = 60.0 / requests_per_minute
        self._nap = nap
        self._next = 0.0
        self._lock = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for the next free place."""
        async with self._lock:
            while (wait := self._next - time.monotonic()) > 0:
                await self._nap(wait)
            # Lateness of the clock is made up for, but never by two calls at once.
            self._next = max(self._next, time.monotonic() - self._interval / 2) + self._interval

    def hold(self, seconds: float) -> None:
        """Let nobody through for a while."""
        self._next = max(self._next, time.monotonic() + seconds)


class Lanes:
    """Lets so many calls be open at once, and fewer where the server is too slow for them.

    A server that answers one call in 3 s answers sixteen at once in 48 s: then no limit on time
    means what a person meant by it, who has one answer in mind. Hence a time-out halves the lanes,
    once for all calls that were open together, down to one.
    """

    def __init__(self, most: int, nap: Nap) -> None:
        self.allowed = most
        self._nap = nap
        self._open = 0
        self._narrowed = 0.0

    @asynccontextmanager
    async def lane(self) -> AsyncIterator[None]:
        """Hold a lane, after waiting for a free one."""
        while self._open >= self.allowed:
            await self._nap(0.02)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def too_slow(self, began: float) -> bool:
        """Take note of a time-out of a call that began at `began` (time.monotonic).

        Whether the server may be in time for fewer calls at once, so that this one tells nothing.
        """
        if began < self._narrowed:
            return True
        if self.allowed == 1:
            return False
        self.allowed = -(-self.allowed // 2)
        self._narrowed = time.monotonic()
        logger.info(
            "too slow for so many requests at once; no more than %d are open from here on",
            self.allowed,
        )
        return True

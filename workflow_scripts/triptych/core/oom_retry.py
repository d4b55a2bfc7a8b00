"""What a job does when a GPU's memory runs out: the same work, half as much of it at a time."""

import gc
import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class NoRoomError(InputError):
    """A GPU's memory holds not even one at a time."""


class OomRetry:
    """How many of something a GPU computes on at a time: halved whenever its memory runs out.

    `size` is what holds from now on.

    units:  what is counted, "images"
    advice: what a user can do where one alone doesn't fit, a sentence
    """

    def __init__(self, size: int, units: str, advice: str) -> None:
        self.size, self._units, self._advice = size, units, advice

    def run(self, attempt: Callable[[int], T]) -> T:
        """`attempt(size)`, again with half of `size` as long as memory runs out.

        `attempt` begins from the same state each time, and comes to the same with smaller portions
        but for rounding. Raises NoRoomError where a portion of one fails.
        """
        while True:
            try:
                return attempt(self.size)
            except torch.OutOfMemoryError as error:
                if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                    raise  # while a graph is recorded, nothing can be given back and tried again
                reason = str(error).split(". ")[0]
            # Behind the handler: the error held the attempt's tensors.
            self.halve(reason)

    def halve(self, reason: str) -> None:
        """Say so and go on with half; raises NoRoomError where that would be none."""
        if self.size <= 1:
            raise NoRoomError(
                f"the GPU's memory doesn't hold one of the {self._units} at a time ({reason}). "
                f"{self._advice}"
            )
        before, self.size = self.size, -(-self.size // 2)
        gc.collect()
        torch.cuda.empty_cache()
        logger.warning(
            "%s with %d %s at a time: from here on %d, to the same result but for rounding",
            reason,
            before,
            self._units,
            self.size,
        )

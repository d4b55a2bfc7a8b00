"""Sizes and bounds of a task's observations and actions; it needs no simulator."""

from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from triptych.rl.tasks.task import HORIZON

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNBOUNDED = 1e6
"""Magnitude from which a bound of an action is none: a type's largest number, for instance."""
FEW = 8
"""Values that are too few to be a sensor's where float64 has as many times more."""
WHOLE = 2**24
"""Magnitude beyond which float32 doesn't hold every whole number."""
brief = partial(shorten, width=300, placeholder=" ...")


@dataclass(frozen=True)
class Spaces:
    """Sizes of a task's observations and actions, the actions' bounds [A], steps of an episode."""

    task: str
    observation_size: int
    low: Array
    high: Array
    horizon: int | None = HORIZON
    """None: the environment has no limit."""

    @property
    def action_size(self) -> int:
        return self.low.size

    @property
    def scaled(self) -> bool:
        """Whether bounds are others than -1 and 1."""
        return bool((self.low != -1).any() or (self.high != 1).any())

    def narrowed(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """From the environment's bounds to [-1, 1], where a locked joint (low equals high) is 0;
        the same array where those are the bounds."""
        if not self.scaled:
            return actions
        width = self.high - self.low
        shares = 2 * (actions - self.low) / np.where(width, width, 1) - 1
        return np.where(width, shares, 0).clip(-1, 1).astype(np.float32)

    def widened(self, actions: Array) -> Array:
        """From [-1, 1] to the environment's bounds, never beyond them by rounding."""
        if not self.scaled:
            return actions
        wide = self.low + (actions + 1) / 2 * (self.high - self.low)
        return np.clip(wide, self.low, self.high)


def lost_in_float32(values: NDArray[Any]) -> str:
    """The first column of [N] or [N, S] that float32 can't hold, in words; "" where there is none.

    Unix time is such a column: 1.7e9 and the next float32 are two minutes apart.
    """
    for number, column in enumerate(values.reshape(len(values), -1).T):
        exact, narrow = len(np.unique(column)), len(np.unique(column.astype(np.float32)))
        beyond = np.abs(column).max() >= WHOLE
        if narrow <= FEW and (exact >= FEW * narrow or (beyond and column.dtype == np.float32)):
            span = f"{column.min():.10g} to {column.max():.10g}"
            return f"{narrow} values of float32 for {exact} ({span}) in column {number}"
    return ""


def expected_space(space: Any, actions: bool) -> str:
    """The kind of space that is expected in place of one that policies can't use; "" for others."""
    if not isinstance(space, Box) or len(space.shape) != 1 or not space.shape[0]:
        return "expected a Box of one axis"
    if not actions:
        return ""
    if space.dtype is None or space.dtype.kind != "f":
        return "expected real numbers, as in a Box of float32"
    if not (np.abs(np.array([space.low, space.high], np.float64)) < UNBOUNDED).all():
        return f"expected bounds on both sides, smaller than {UNBOUNDED:g}: what actuators can do"
    return ""

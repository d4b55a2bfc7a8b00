"""What a task is: a gymnasium environment, the returns between which it is normalised, its inputs.

The paper's three are known by name; any other is an entry of `rl.tasks` in the config.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from triptych.core.errors import InputError

NORMALISED = "D4RL-normalised score"
RETURN = "return"
"""What a score is: between two references, or as the environment pays."""


@dataclass(frozen=True)
class Task:
    """One task. Where inputs have no names, they are "input 1", "input 2" and so on."""

    name: str
    environment: str
    """As `gymnasium.make` takes it: "Ant-v5", or "module:Mine-v0" for one that a module registers.
    """
    reference: tuple[float, float] | None = None
    """The returns that score 0 (D4RL's random policy) and 100 (its expert)."""
    inputs: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What its scores are."""
        return NORMALISED if self.reference else RETURN

    def score(self, returns: ArrayLike) -> NDArray[np.float64]:
        """D4RL's score of undiscounted episode returns; without references the returns themselves.

        `returns` has any shape and is in the environment's reward; the result has the same shape.
        """
        values = np.asarray(returns, dtype=np.float64)
        if self.reference is None:
            return values
        minimum, maximum = self.reference
        return 100.0 * (values - minimum) / (maximum - minimum)

    def input_names(self, size: int) -> tuple[str, ...]:
        """A name for each of `size` inputs. Raises ValueError where there are fewer or more."""
        if not self.inputs:
            return tuple(f"input {i + 1}" for i in range(size))
        if len(self.inputs) != size:
            raise ValueError(
                f"config: rl.tasks.{self.name}.inputs names {len(self.inputs)} inputs; expected "
                f"{size}, the numbers of an observation"
            )
        return self.inputs


def _inputs(body: str, *joints: str) -> tuple[str, ...]:
    """What the numbers of an observation are (gymnasium's pages of the three environments).

    The place along the track is left out, its velocity isn't.
    """
    angles = [f"{body} angle", *(f"{joint} angle" for joint in joints)]
    return (
        f"{body} height",
        *angles,
        f"{body} forward velocity",
        f"{body} upward velocity",
        *(f"{angle[: -len('angle')]}turning" for angle in angles),
    )


_LEGS = ("thigh", "leg", "foot")
PAPER = {
    "hopper": Task("hopper", "Hopper-v4", (-20.272305, 3234.3), _inputs("torso", *_LEGS)),
    "walker2d": Task(
        "walker2d",
        "Walker2d-v4",
        (1.629008, 4592.3),
        _inputs("torso", *_LEGS, *(f"left {joint}" for joint in _LEGS)),
    ),
    "halfcheetah": Task(
        "halfcheetah",
        "HalfCheetah-v4",
        (-280.178953, 12135.0),
        _inputs(
            "torso",
            *(f"{end} {joint}" for end in ("back", "front") for joint in ("thigh", "shin", "foot")),
        ),
    ),
}
"""The paper's tasks: the environments and references of D4RL's data."""
SIZES = {"hopper": (11, 3), "walker2d": (17, 6), "halfcheetah": (17, 6)}
"""Numbers of an observation and of an action."""
ASSUMED = (105, 8)
"""Those of Ant: what another task is planned with, whose sizes its first job finds out."""


def task_named(name: str) -> Task:
    """One of the paper's tasks; a ValueError that lists them otherwise."""
    if name not in PAPER:
        raise ValueError(f"there is no task {name!r}; the tasks are {', '.join(PAPER)}")
    return PAPER[name]


def task_from(
    name: str,
    environment: str | None = None,
    reference: Sequence[float] | None = None,
    inputs: Sequence[str] = (),
) -> Task:
    """A task as config writes it. Raises InputError where one of the paper's is given anew, or
    another has no environment."""
    if name in PAPER:
        if environment or reference or inputs:
            raise InputError(
                f"config: rl.tasks.{name} has keys that say what it is; it is the paper's "
                f"{PAPER[name].environment}: give a task of your own another name"
            )
        return PAPER[name]
    if not environment:
        raise InputError(
            f"config: rl.tasks.{name} has no environment; expected an id of gymnasium's, such as "
            f"Ant-v5 (known without one are {', '.join(PAPER)})"
        )
    ends = (float(reference[0]), float(reference[1])) if reference else None
    return Task(name, environment, ends, tuple(inputs))

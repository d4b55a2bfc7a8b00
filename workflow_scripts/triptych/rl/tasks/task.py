"""Tasks: a gymnasium environment, the reference returns of its scores, names of its inputs.

The paper's three are known by name; any other is an entry of `rl.tasks` in the config.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from triptych.core.errors import InputError

NORMALISED = "D4RL-normalised score"
OWN = "normalised score (own reference)"
RETURN = "return"
"""Units of a score: between D4RL's references or a user's, or the environment's reward."""
SCALED = (NORMALISED, OWN)
"""Units of scores that are 0 and 100 at two references."""


@dataclass(frozen=True)
class Task:
    """One task. Where inputs have no names, they are "input 1", "input 2" and so on."""

    name: str
    environment: str
    """As `gymnasium.make` takes it: "Ant-v5", or "module:Mine-v0", which the module registers."""
    reference: tuple[float, float] | None = None
    """The returns that score 0 (D4RL's random policy) and 100 (its expert)."""
    inputs: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `gymnasium.make`."""

    @property
    def unit(self) -> str:
        if self.reference is None:
            return RETURN
        published = PAPER[self.paper].reference if self.paper else None
        return NORMALISED if self.reference == published else OWN

    @property
    def paper(self) -> str | None:
        """The paper's name for its environment, whatever the task is called."""
        return None if self.options else ENVIRONMENTS.get(self.environment)

    def score(self, returns: Any) -> Any:
        """D4RL's score of undiscounted episode returns; without references the returns themselves.

        returns: a number or an array of any shape, in the environment's reward; so is the result.
        """
        if self.reference is None:
            return returns
        minimum, maximum = self.reference
        return 100.0 * (returns - minimum) / (maximum - minimum)

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
    """Names of an observation's numbers (gymnasium's pages of the three environments).

    The position along the track is not among them, its velocity is.
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
ENVIRONMENTS = {task.environment: name for name, task in PAPER.items()}
SIZES = {"hopper": (11, 3), "walker2d": (17, 6), "halfcheetah": (17, 6)}
"""Numbers of an observation and of an action."""
HORIZON = 1000
"""Steps after which D4RL's and gymnasium's wrappers cut an episode (a time-out)."""


UNLIMITED = "none known"
"""What `limit_from` of a data set says where nothing shows a time limit."""


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
    options: Mapping[str, Any] | None = None,
) -> Task:
    """A task as config writes it.

    One of the paper's environments under another name has the paper's references and names of
    inputs, unless it has its own. Raises InputError where keys don't go together.
    """
    key = f"config: rl.tasks.{name}"
    if name in PAPER:
        if environment or reference or options or inputs:
            raise InputError(
                f"{key} has keys that say what it is; it is the paper's "
                f"{PAPER[name].environment}: give a task of your own another name"
            )
        return PAPER[name]
    if environment is None:
        raise InputError(f"{key} has no environment; expected one of gymnasium's, such as Ant-v5")
    returns = (float(reference[0]), float(reference[1])) if reference else None
    task = Task(name, environment, returns, tuple(inputs), dict(options or {}))
    if task.paper is None:
        return task
    like = PAPER[task.paper]
    return replace(task, reference=returns or like.reference, inputs=task.inputs or like.inputs)

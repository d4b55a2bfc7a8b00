"""What a task is: a gymnasium environment, the returns between which it is normalised, its inputs.

The paper's three are known by name; any other is an entry of `rl.tasks` in the config. One without
an environment is a log: nothing can be played, so what is held out of it is predicted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triptych.core.errors import InputError

NORMALISED = "D4RL-normalised score"
RETURN = "return"
ACTION_ERROR = "action error"
"""What a score is: between two references, as the environment pays, or of a log's held-out actions
the normalised mean squared error (`action_errors`), of which less is better."""

Bounds = tuple[float | tuple[float, ...], float | tuple[float, ...]]


@dataclass(frozen=True)
class Task:
    """One task. Where inputs have no names, they are "input 1", "input 2" and so on."""

    name: str
    environment: str | None
    """As `gymnasium.make` takes it: "Ant-v5", or "module:Mine-v0" for one that a module registers;
    None for a log."""
    reference: tuple[float, float] | None = None
    """The returns that score 0 (D4RL's random policy) and 100 (its expert)."""
    inputs: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of `gymnasium.make`."""
    bounds: Bounds = (-1.0, 1.0)
    """Between which a log's actions lie: a number for all, or one each."""
    validation: float = 0.1
    """The share of a log's episodes that nothing is trained on."""

    @property
    def unit(self) -> str:
        """What its scores are."""
        if self.environment is None:
            return ACTION_ERROR
        return NORMALISED if self.reference else RETURN

    @property
    def paper(self) -> str | None:
        """The paper's name for its environment, whatever the task is called."""
        return None if self.options else ENVIRONMENTS.get(self.environment or "")

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
ENVIRONMENTS = {task.environment: name for name, task in PAPER.items()}
SIZES = {"hopper": (11, 3), "walker2d": (17, 6), "halfcheetah": (17, 6)}
"""Numbers of an observation and of an action."""
ASSUMED = (105, 8)
"""Ant's sizes: what another task is planned with, until its first job finds its own."""


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
    bounds: Sequence[Any] | None = None,
    validation: float | None = None,
) -> Task:
    """A task as config writes it; without an environment, or with "none", it is a log.

    One of the paper's environments under another name has the paper's references and names of
    inputs, unless it has its own. Raises InputError where keys don't go together.
    """
    key = f"config: rl.tasks.{name}"
    of_environment = {"environment": environment, "reference": reference, "options": options}
    of_log = {"bounds": bounds, "validation": validation}
    if name in PAPER:
        if environment or reference or options or inputs:
            raise InputError(
                f"{key} has keys that say what it is; it is the paper's "
                f"{PAPER[name].environment}: give a task of your own another name"
            )
        _refuse(key, of_log, f"of a log, and the task has an environment, {name}")
        return PAPER[name]
    if environment in (None, "none"):
        _refuse(key, of_environment | {"environment": None}, "of an environment: a log has none")
        ends = (_numbers(bounds[0]), _numbers(bounds[1])) if bounds else Task.bounds
        if len({len(end) for end in ends if isinstance(end, tuple)}) > 1:
            raise InputError(f"{key}.bounds has two lengths; expected a number each of an action")
        share = Task.validation if validation is None else validation
        return Task(name, None, inputs=tuple(inputs), bounds=ends, validation=share)
    _refuse(key, of_log, f"of a log, and the task has an environment, {environment}")
    like = PAPER.get(ENVIRONMENTS.get(environment or "", "")) if not options else None
    returns = (float(reference[0]), float(reference[1])) if reference else None
    return Task(
        name,
        environment,
        returns or (like.reference if like else None),
        tuple(inputs) or (like.inputs if like else ()),
        dict(options or {}),
    )


def _refuse(key: str, values: Mapping[str, object], why: str) -> None:
    for name, value in values.items():
        if value is not None:
            raise InputError(f"{key}.{name} is {why}; expected one or the other")


def _numbers(bound: float | Sequence[float]) -> float | tuple[float, ...]:
    return tuple(map(float, bound)) if isinstance(bound, Sequence) else float(bound)

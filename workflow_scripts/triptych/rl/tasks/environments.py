"""Episodes of any task in lock-step, with actions in [-1, 1] whatever the environment's bounds."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from triptych.core.errors import InputError
from triptych.rl.tasks.locomotion import HORIZON, Array, Flags, Locomotion
from triptych.rl.tasks.task import SIZES, Task


@dataclass(frozen=True)
class Spaces:
    """Sizes of a task's observations and actions, the actions' bounds [A], steps of an episode."""

    task: str
    observation_size: int
    low: Array
    high: Array
    horizon: int = HORIZON

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return self.low.size

    @property
    def scaled(self) -> bool:
        """Whether bounds are others than -1 and 1."""
        return bool((self.low != -1).any() or (self.high != 1).any())

    def narrowed(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """From the environment's bounds to [-1, 1]; the same array where those are the bounds."""
        if not self.scaled:
            return actions
        return (2 * (actions - self.low) / (self.high - self.low) - 1).astype(np.float32)

    def widened(self, actions: Array) -> Array:
        """From [-1, 1] to the environment's bounds."""
        if not self.scaled:
            return actions
        return self.low + (actions + 1) / 2 * (self.high - self.low)


def spaces_of(task: Task) -> Spaces:
    """A task's sizes and bounds.

    Raises InputError where gymnasium knows no such environment, or observations are no vectors or
    actions not bounded vectors.
    """
    if task.paper:
        size, ones = SIZES[task.paper][0], np.ones(SIZES[task.paper][1])
        return Spaces(task.name, size, -ones, ones)
    return _of_environment(task)


def _of_environment(task: Task) -> Spaces:
    with closing(_make(task)) as environment:
        observation_space = environment.observation_space
        action_space = environment.action_space
        limit = environment.spec.max_episode_steps if environment.spec else None
    for space, what in ((observation_space, "observations"), (action_space, "actions")):
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise InputError(_refused(task, f"its {what} are {space}; expected a Box of one axis"))
    assert isinstance(observation_space, gymnasium.spaces.Box)
    assert isinstance(action_space, gymnasium.spaces.Box)
    if not action_space.is_bounded():
        text = f"its actions are {action_space}; expected bounds on both sides"
        raise InputError(_refused(task, text))
    low, high = (np.asarray(bound, np.float64) for bound in (action_space.low, action_space.high))
    return Spaces(task.name, observation_space.shape[0], low, high, limit or HORIZON)


def episodes_of(task: Task, count: int) -> "Locomotion | GymnasiumEpisodes":
    """`count` episodes: the paper's tasks by our own lock-step loop, others by gymnasium's."""
    return Locomotion(task.paper, count) if task.paper else GymnasiumEpisodes(task, count)


class GymnasiumEpisodes:
    """Episodes of any environment with vectors for observations and actions (`spaces_of`).

    An environment that has no time limit of its own is cut where `Spaces.horizon` says.
    """

    def __init__(self, task: Task, episodes: int) -> None:
        self._spaces = _of_environment(task)
        self.horizon = self._spaces.horizon
        make: list[Callable[[], Any]] = [partial(_make, task)] * episodes
        self._environments = SyncVectorEnv(make)

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return self._spaces.low.size

    def reset(self, seeds: Sequence[int]) -> Array:
        """Start all episodes, each from its seed; observations [E, S]."""
        return np.asarray(self._environments.reset(seed=list(seeds))[0], np.float64)

    def step(self, actions: Array, active: Flags) -> tuple[Array, Array, Flags]:
        """Apply actions [E, A] in [-1, 1]; observations, rewards, whether the episode ended.

        gymnasium restarts an episode that has ended; where `active` is false nothing counts.
        """
        space = self._environments.action_space
        wide = self._spaces.widened(np.clip(actions, -1, 1)).astype(space.dtype)
        observations, rewards, ended, cut, _ = self._environments.step(wide)
        return (
            np.asarray(observations, np.float64),
            np.where(active, rewards, 0.0),
            active & (np.asarray(ended) | np.asarray(cut)),
        )


def _make(task: Task) -> "gymnasium.Env[Any, Any]":
    try:
        return gymnasium.make(task.environment, disable_env_checker=True, **task.options)
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise InputError(
            _refused(task, f"{error}; expected an id of gymnasium's, or module:id of your own")
        ) from error


def _refused(task: Task, why: str) -> str:
    return f"config: rl.tasks.{task.name}.environment is {task.environment!r}: {why}"

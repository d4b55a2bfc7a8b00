"""Episodes of any task in lock-step, with actions in [-1, 1] whatever the environment's bounds."""

import json
import logging
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from triptych.core.errors import InputError
from triptych.rl.tasks.locomotion import Array, Flags, Locomotion
from triptych.rl.tasks.spaces import Spaces, brief, expected_space, lost_in_float32
from triptych.rl.tasks.task import HORIZON, SIZES, Task

logger = logging.getLogger(__name__)

TRIED_STEPS, COMPARED_STEPS = 300, 100
"""Steps of `try_environment`, and those of them that are repeated."""
LARGEST_SEED = 2**32 - 1
"""Seeds of an evaluation's episodes go up to this."""
APPEARANCE = ("render_mode", "width", "height", "camera_id", "camera_name", "default_camera_config")
"""Arguments of an environment that change its pictures alone."""
HARMLESS = {
    *("TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "RecordVideo"),
    *("HumanRendering", "RenderCollection", "DataCollector", "StepDataCollector"),
    *("DtypeObservation", "RescaleAction"),  # a set's own bounds of actions are read
}
"""Wrappers that change no number of a recording."""
RESET = "; expected an observation and a dict for any seed from 0 to 4294967295, here %d"
SEVERAL = "; expected that several can be made at once, as an evaluation does"
STEP = "; expected an observation, a reward, terminated, truncated and a dict"


def spaces_of(task: Task) -> Spaces:
    """A task's sizes and bounds.

    Raises InputError where gymnasium can't make its environment, or observations are no vectors or
    actions not bounded vectors of real numbers.
    """
    if task.paper:
        size, ones = SIZES[task.paper][0], np.ones(SIZES[task.paper][1])
        return Spaces(task.name, size, -ones, ones)
    with closing(GymnasiumEpisodes(task, 1)) as episodes:
        return episodes.spaces


def _spaces(task: Task, environment: "gymnasium.Env[Any, Any]") -> Spaces:
    observation_space, action_space = environment.observation_space, environment.action_space
    for space, what in ((observation_space, "observations"), (action_space, "actions")):
        if expected := expected_space(space, what == "actions"):
            raise _refused(task, f"its {what} are {brief(str(space))}; {expected}")
    assert isinstance(observation_space, Box) and isinstance(action_space, Box)
    low, high = (np.asarray(bound, np.float64) for bound in (action_space.low, action_space.high))
    limit = environment.spec.max_episode_steps if environment.spec else None
    return Spaces(task.name, observation_space.shape[0], low, high, limit)


def try_environment(task: Task, accepted: Collection[str] = ()) -> Spaces:
    """A task's sizes and bounds, after its environment was stepped at both bounds and at random,
    alone and beside another one, from seeds such as an evaluation's.

    accepted: the task's `accept`. Raises InputError for what would stop an evaluation after hours
    of training; warns of what makes its scores depend on more than its seeds.
    """
    if task.paper:
        return spaces_of(task)
    with closing(GymnasiumEpisodes(task, 2)) as episodes:
        size, generator = episodes.action_size, np.random.default_rng(0)
        actions = generator.uniform(-1, 1, (TRIED_STEPS, size))
        actions[:2] = [-np.ones(size), np.ones(size)]
        alone = _trace(episodes, actions)
        again = _trace(episodes, actions[:COMPARED_STEPS])
        beside = _trace(episodes, actions[:COMPARED_STEPS], beside=True)
        _compare(task, alone[: len(again)], again, beside)
        observed = alone[:, :-1]
        if "precision" not in accepted and (found := lost_in_float32(observed)):
            text = f"its observations have {found}; subtract what they have in common"
            raise _refused(task, f"{text} (or accept: [precision] in the task)")
        return episodes.spaces


def _trace(episodes: "GymnasiumEpisodes", actions: Array, beside: bool = False) -> Array:
    """What one of two environments shows, a row a reset or step: its observation and reward.

    beside: the other one, from other seeds, is stepped in turn with it until it ends.
    """
    seeds = [int(seed) for seed in np.random.SeedSequence(0).generate_state(TRIED_STEPS + 1)]
    active = np.array([True, beside])
    rows = [[*episodes.reset([LARGEST_SEED, seeds[0]][: 1 + beside])[0], 0.0]]
    for action in actions:
        observed, rewards, ended = episodes.step(np.stack([action, -action]), active)
        rows.append([*observed[0], rewards[0]])
        active[1] &= not ended[1]
        if ended[0]:
            rows.append([*episodes.reset([seeds.pop()])[0], 0.0])
    return np.array(rows)


def _compare(task: Task, alone: Array, again: Array, beside: Array) -> None:
    """Warn where episodes of equal seeds and actions differ."""
    for other, where in ((again, ""), (beside, " where another one is stepped beside it")):
        rows = min(len(alone), len(other))
        differ = ~np.isclose(alone[:rows], other[:rows]).all(1)
        if differ.any():
            logger.warning(
                "%s: two episodes with one seed and the same actions differ from step %d%s, so its "
                "scores can't be repeated; draw from self.np_random after super().reset(seed=seed)",
                task.name,
                differ.argmax(),
                where,
            )
            return


def terminates_within(task: Task, steps: int) -> bool:
    """Whether a task's environment ends an episode by itself within so many random steps."""
    with closing(_make(task)) as environment, _faults(task, "its step", STEP):
        environment.reset(seed=0)
        environment.action_space.seed(0)
        for _ in range(steps):
            _, _, terminated, truncated, _ = environment.step(environment.action_space.sample())
            if terminated or truncated:
                return bool(terminated)
    return False


def recorded_elsewhere(task: Task, recorded: Mapping[str, Any]) -> tuple[str, str]:
    """The environment of a data set and what would make the task's equal, where it is another one;
    two empty texts where it is the task's.

    recorded: `id`, `kwargs`, `wrappers` (names) and `max_episode_steps` of gymnasium's EnvSpec, as
    JSON holds them.
    """
    with closing(_make(task)) as environment:
        spec = environment.spec
    if spec is None:
        return "", ""
    theirs, ours = _arguments(recorded.get("kwargs") or {}), _arguments(spec.kwargs)
    if recorded.get("id") != spec.id or theirs != ours:
        found = f"{recorded.get('id')} with options {theirs or 'none'}"
        return found, "Give the task that environment."
    wrappers = [name for name in recorded.get("wrappers") or () if name not in HARMLESS]
    if wrappers != [one.name for one in spec.additional_wrappers if one.name not in HARMLESS]:
        advice = "Register an environment of yours that has these wrappers."
        return f"{spec.id} in the wrappers {', '.join(wrappers) or 'none'}", advice
    steps = recorded.get("max_episode_steps")
    if steps is not None and steps != spec.max_episode_steps:
        found = f"{spec.id} with a limit of {steps} steps, not {spec.max_episode_steps}"
        return found, f"Set options: {{max_episode_steps: {steps}}} of the task."
    return "", ""


def _arguments(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an environment as JSON holds them, without those of its pictures."""
    numbers = {key: value for key, value in kwargs.items() if key not in APPEARANCE}
    arguments: dict[str, Any] = json.loads(json.dumps(numbers, default=str))
    return arguments


def episodes_of(task: Task, count: int, horizon: int = HORIZON) -> "Locomotion | GymnasiumEpisodes":
    """`count` episodes: the paper's tasks by our own lock-step loop, others by gymnasium.

    horizon: steps after which episodes are cut where the environment has no limit.
    """
    return Locomotion(task.paper, count) if task.paper else GymnasiumEpisodes(task, count, horizon)


class GymnasiumEpisodes:
    """Episodes of any environment with vectors for observations and actions (`spaces_of`).

    Faults of the environment are raised as InputError. horizon: as for `episodes_of`.
    """

    def __init__(self, task: Task, episodes: int, horizon: int = HORIZON) -> None:
        self._task = task
        self._environments = [_make(task, SEVERAL * (n > 0)) for n in range(episodes)]
        self.spaces = _spaces(task, self._environments[0])
        self.horizon = self.spaces.horizon or horizon
        self._observations = np.zeros((episodes, self.spaces.observation_size))

    @property
    def action_size(self) -> int:
        return self.spaces.action_size

    def close(self) -> None:
        for environment in self._environments:
            with _faults(self._task, "its close"):
                environment.close()

    def reset(self, seeds: Sequence[int]) -> Array:
        """Start all episodes, each from its seed; observations [E, S]."""
        for episode, seed in enumerate(seeds):
            with _faults(self._task, "its reset", RESET % seed):
                observation, _ = self._environments[episode].reset(seed=seed)
                self._observations[episode] = self._checked(observation)
        return self._observations.copy()

    def step(self, actions: Array, active: Flags) -> tuple[Array, Array, Flags]:
        """Apply actions [E, A] in [-1, 1]; observations, rewards, whether the episode ended.

        Where `active` is false nothing happens, and the reward is 0.
        """
        rewards, ended = np.zeros(len(active)), np.zeros(len(active), bool)
        wide = self.spaces.widened(np.clip(actions, -1, 1))
        for episode in np.flatnonzero(active).tolist():
            environment = self._environments[episode]
            with _faults(self._task, "its step", STEP):
                action = wide[episode].astype(environment.action_space.dtype)
                observation, reward, terminated, truncated, _ = environment.step(action)
                self._observations[episode] = self._checked(observation)
                rewards[episode] = np.asarray(reward, np.float64).item()
                ended[episode] = bool(terminated) or bool(truncated)
            if not np.isfinite(rewards[episode]):
                raise _refused(self._task, f"a step's reward is {reward}; expected finite numbers")
        return self._observations.copy(), rewards, ended

    def _checked(self, observation: Any) -> Array:
        """An observation as numbers. Raises InputError for NaN, infinity or another shape."""
        found, size = np.asarray(observation, np.float64), self.spaces.observation_size
        if found.shape != (size,):
            text = f"an observation has the shape {found.shape}; expected its space's, ({size},)"
            raise _refused(self._task, text)
        if not np.isfinite(found).all():
            text = f"an observation is {brief(str(found))}; expected finite numbers"
            raise _refused(self._task, text)
        return found


@contextmanager
def _faults(task: Task, doing: str, expected: str = "") -> Iterator[None]:
    """Raise what a task's environment raises as an InputError with its place."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"({place.filename}, line {place.lineno})"
        raised = f"{doing} raised {type(error).__name__}: {brief(str(error))} {where}{expected}"
        raise _refused(task, raised) from error


def _make(task: Task, expected: str = "") -> "gymnasium.Env[Any, Any]":
    with _faults(task, "gymnasium.make", expected):
        try:
            return gymnasium.make(task.environment, disable_env_checker=True, **task.options)
        except (gymnasium.error.Error, ImportError) as error:
            text = "; expected an id of gymnasium's, or module:id of your own"
            raise _refused(task, f"{brief(str(error))}{expected or text}") from error


def _refused(task: Task, why: str) -> InputError:
    return InputError(f"config: rl.tasks.{task.name}.environment is {task.environment!r}: {why}")

"""Expert policies: linear ones, rolled out, measured, and kept as files that one can read."""

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.core.files import atomic_path
from triptych.rl.locomotion import Array, Locomotion, normalised_score

PathLike = str | os.PathLike[str]

# Seeds of the episodes that a policy is measured on. Those that choose a policy (see
# random_search.py) and those that data are collected from lie far apart from them.
FIRST_MEASUREMENT_SEED = 3_000_000_000
MEASUREMENT_EPISODES = 50


@dataclass(frozen=True)
class LinearPolicy:
    """clip(weights @ (observation - mean) / scale, -1, 1); weights [A, S], mean and scale [S]."""

    weights: Array
    observation_mean: Array
    observation_scale: Array

    def __call__(self, observations: Array) -> Array:
        """Actions [E, A] for observations [E, S]."""
        standardised = (observations - self.observation_mean) / self.observation_scale
        actions: Array = np.clip(standardised @ self.weights.T, -1.0, 1.0)
        return actions


def roll_out(
    environment: Locomotion,
    act: Callable[[Array], Array],
    seeds: Sequence[int],
    observe: Callable[[Array], None] | None = None,
) -> tuple[Array, NDArray[np.int64]]:
    """One episode for each of `seeds`: returns [E] and lengths in steps [E].

    `act` maps observations [E, S] to actions [E, A]; `observe`, if given, is told those of the
    episodes that still run.
    """
    observations = environment.reset(seeds)
    returns = np.zeros(environment.episodes)
    lengths = np.zeros(environment.episodes, dtype=np.int64)
    active = np.ones(environment.episodes, dtype=bool)
    for _ in range(environment.horizon):
        if observe is not None:
            observe(observations[active])
        observations, rewards, terminals = environment.step(act(observations), active)
        returns += rewards
        lengths += active
        active &= ~terminals
        if not active.any():
            break
    return returns, lengths


def measure_expert(task: str, policy: LinearPolicy) -> dict[str, float]:
    """Returns and normalised scores over fresh episodes, whose seeds nothing was chosen by."""
    seeds = range(FIRST_MEASUREMENT_SEED, FIRST_MEASUREMENT_SEED + MEASUREMENT_EPISODES)
    returns, lengths = roll_out(Locomotion(task, MEASUREMENT_EPISODES), policy, seeds)
    scores = normalised_score(task, returns)
    return {
        "episodes": MEASUREMENT_EPISODES,
        "first_seed": FIRST_MEASUREMENT_SEED,
        "return_mean": round(float(returns.mean()), 1),
        "return_std": round(float(returns.std()), 1),
        "return_min": round(float(returns.min()), 1),
        "score_normalised_mean": round(float(scores.mean()), 2),
        "score_normalised_std": round(float(scores.std()), 2),
        "score_normalised_min": round(float(scores.min()), 2),
        "steps_mean": round(float(lengths.mean()), 1),
    }


def write_expert(
    path: PathLike,
    task: str,
    policy: LinearPolicy,
    measured: dict[str, float],
    training: dict[str, Any],
) -> None:
    """Write a policy as JSON, one row of numbers a line, so that a person can read and compare."""
    content = {
        "task": task,
        "policy": "clip(weights @ ((observation - observation_mean) / observation_scale), -1, 1)",
        "measured": measured,
        "training": training,
        "observation_mean": policy.observation_mean.tolist(),
        "observation_scale": policy.observation_scale.tolist(),
        "weights": policy.weights.tolist(),
    }
    text = json.dumps(content, indent=2)
    one_line = re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found[0]), text)
    with atomic_path(path) as temporary:
        temporary.write_text(one_line + "\n", encoding="utf-8")


def read_expert(path: PathLike, task: str) -> LinearPolicy:
    """The policy that `write_expert` wrote; a ValueError says why a file does not fit `task`."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        policy = LinearPolicy(
            np.array(content["weights"], dtype=np.float64),
            np.array(content["observation_mean"], dtype=np.float64),
            np.array(content["observation_scale"], dtype=np.float64),
        )
        trained_for = content["task"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not an expert's file ({error!r}); rule rl_train_expert writes them"
        ) from error
    sizes = Locomotion(task, 1)
    observation_shape = (sizes.observation_size,)
    shapes = (policy.weights.shape, policy.observation_mean.shape, policy.observation_scale.shape)
    expected = ((sizes.action_size, sizes.observation_size), observation_shape, observation_shape)
    if trained_for != task or shapes != expected:
        raise ValueError(
            f"{path} holds a policy for {trained_for} with shapes {shapes}, but {task} was asked "
            f"for, with shapes {expected}; give the file that belongs to {task}"
        )
    return policy


def best_iteration(path: PathLike) -> int:
    """The iteration of the search that an expert's file comes from."""
    return int(json.loads(Path(path).read_text(encoding="utf-8"))["training"]["best_iteration"])

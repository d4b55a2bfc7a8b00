"""Experts rolled out, measured and written."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from triptych.core.files import atomic_path
from triptych.demo.collection import LAYERS, Expert, PathLike
from triptych.rl.tasks.locomotion import Array, Locomotion
from triptych.rl.tasks.task import task_named

# Seeds of the episodes that a policy is measured on. Those that it trains on, those that choose it
# (ppo.py) and those that data are collected from (demo/collection.py) lie far apart from them.
FIRST_MEASUREMENT_SEED = 3_000_000_000
MEASUREMENT_EPISODES = 50


def roll_out(
    environment: Locomotion, act: Callable[[Array], Array], seeds: Sequence[int]
) -> tuple[Array, NDArray[np.int64]]:
    """One episode for each of `seeds`: returns [E] and lengths in steps [E].

    `act` maps observations [E, S] to actions [E, A].
    """
    observations = environment.reset(seeds)
    returns = np.zeros(environment.episodes)
    lengths = np.zeros(environment.episodes, dtype=np.int64)
    active = np.ones(environment.episodes, dtype=bool)
    for _ in range(environment.horizon):
        observations, rewards, terminals = environment.step(act(observations), active)
        returns += rewards
        lengths += active
        active &= ~terminals
        if not active.any():
            break
    return returns, lengths


def measure_expert(task: str, policy: Expert) -> dict[str, float]:
    """Returns and normalised scores over fresh episodes, whose seeds nothing was chosen by."""
    seeds = range(FIRST_MEASUREMENT_SEED, FIRST_MEASUREMENT_SEED + MEASUREMENT_EPISODES)
    returns, lengths = roll_out(Locomotion(task, MEASUREMENT_EPISODES), policy, seeds)
    scores = task_named(task).score(returns)
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


def write_expert(path: PathLike, policy: Expert) -> None:
    """Write a policy's layers as one safetensors file."""
    arrays = {f"{layer}.weight": policy.weights[layer] for layer in LAYERS}
    arrays |= {f"{layer}.bias": policy.biases[layer] for layer in LAYERS}
    with atomic_path(path) as temporary:
        save_file({name: np.ascontiguousarray(each) for name, each in arrays.items()}, temporary)

"""Expert policies: small networks, rolled out, measured, kept with how they were made."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from triptych.core.files import atomic_path
from triptych.rl.locomotion import Array, Locomotion
from triptych.rl.tasks import SIZES, task_named

PathLike = str | os.PathLike[str]

LAYERS = ("fc0", "fc1", "last_fc")
"""D4RL's names of a policy's layers (metadata/policy of its files)."""

# Seeds of the episodes that a policy is measured on. Those that it trains on, those that choose it
# (ppo.py) and those that data are collected from (collection.py) lie far apart from them.
FIRST_MEASUREMENT_SEED = 3_000_000_000
MEASUREMENT_EPISODES = 50


@dataclass(frozen=True)
class Expert:
    """clip(last_fc(tanh(fc1(tanh(fc0(observation))))), -1, 1): affine layers, float32.

    `weights` and `biases` by layer, in torch's layout: [outputs, inputs] and [outputs].
    """

    weights: dict[str, np.ndarray]
    biases: dict[str, np.ndarray]

    def __call__(self, observations: Array) -> Array:
        """Actions [E, A] for observations [E, S]."""
        x = observations
        for layer in LAYERS[:-1]:
            x = np.tanh(x @ self.weights[layer].T.astype(np.float64) + self.biases[layer])
        last = LAYERS[-1]
        return np.clip(x @ self.weights[last].T.astype(np.float64) + self.biases[last], -1.0, 1.0)


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


def write_record(path: PathLike, task: str, training: dict[str, Any], policy: Expert) -> None:
    """Write, beside a policy, how it was made and what it scores over fresh episodes."""
    record = {"task": task, "measured": measure_expert(task, policy), "training": training}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def read_expert(path: PathLike, task: str) -> Expert:
    """The policy that `write_expert` wrote; a ValueError says why a file does not fit `task`."""
    try:
        arrays = load_file(Path(path))
        weights = {layer: arrays[f"{layer}.weight"] for layer in LAYERS}
        biases = {layer: arrays[f"{layer}.bias"] for layer in LAYERS}
    except (SafetensorError, KeyError) as error:
        raise ValueError(
            f"{path} is not an expert's file ({error!r}); rule rl_train_expert writes them"
        ) from error
    found = weights[LAYERS[0]].shape[1], weights[LAYERS[-1]].shape[0]
    expected = SIZES[task_named(task).name]
    if found != expected:
        raise ValueError(
            f"{path} maps {found[0]} observations to {found[1]} actions, but {task} has "
            f"{expected[0]} and {expected[1]}; give the file that belongs to {task}"
        )
    return Expert(weights, biases)

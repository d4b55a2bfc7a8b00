"""Experts rolled out, chosen, measured and written."""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import nn

from triptych.core.files import atomic_path
from triptych.demo.collection import LAYERS, Expert, PathLike
from triptych.rl.tasks.locomotion import Array, Locomotion
from triptych.rl.tasks.task import task_named

# Seeds of the episodes that a policy trains on, is chosen by and is measured on. They lie far apart
# from each other and from those that data are collected from (demo/collection.py).
FIRST_TRAINING_SEED, FIRST_SELECTION_SEED = 1_000_000_000, 2_000_000_000
FIRST_MEASUREMENT_SEED = 3_000_000_000
SELECTION_EPISODES, MEASUREMENT_EPISODES = 10, 50
SELECTION_NOISE = 0.1  # standard deviation of the noise on the actions of the episodes that choose


logger = logging.getLogger(__name__)


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


def folded(policy: nn.Sequential, mean: Array, scale: Array) -> Expert:
    """The policy of a network whose inputs are standardised, that folded into its first layer."""
    linears = [layer for layer in policy if isinstance(layer, nn.Linear)]
    pairs = list(zip(LAYERS, linears, strict=True))
    weights = {layer: each.weight.detach().double().numpy() for layer, each in pairs}
    biases = {layer: each.bias.detach().double().numpy() for layer, each in pairs}
    first = LAYERS[0]
    weights[first] = weights[first] / scale
    biases[first] = biases[first] - weights[first] @ mean
    return Expert(
        {layer: each.astype(np.float32) for layer, each in weights.items()},
        {layer: each.astype(np.float32) for layer, each in biases.items()},
    )


def score_with_noise(task: str, policy: Expert, seed: int) -> float:
    """Mean normalised score that chooses a policy.

    It acts with noise: data are recorded with noise, and a gait that only works without falls.
    """
    random = np.random.default_rng(seed)

    def act(observations: Array) -> Array:
        actions = policy(observations)
        return np.clip(actions + SELECTION_NOISE * random.standard_normal(actions.shape), -1, 1)

    seeds = range(FIRST_SELECTION_SEED, FIRST_SELECTION_SEED + SELECTION_EPISODES)
    returns, _ = roll_out(Locomotion(task, SELECTION_EPISODES), act, seeds)
    return float(task_named(task).score(returns).mean())


def measured(task: str, policy: Expert) -> dict[str, float]:
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


class Learner(ABC):
    """A training that keeps the policy of its best evaluation."""

    def __init__(self, task: str, seed: int, environments: int) -> None:
        self.task, self.seed = task, seed
        self.simulation = Locomotion(task, environments)
        self.episodes_begun, self.best = 0, -np.inf

    @abstractmethod
    def expert(self) -> Expert:
        """The policy as it stands."""

    def next_seeds(self, count: int) -> list[int]:
        """Seeds of the next episodes to learn from."""
        first = FIRST_TRAINING_SEED + 1_000_000 * self.seed + self.episodes_begun
        self.episodes_begun += count
        return list(range(first, first + count))

    def evaluate(self, step: int) -> None:
        """Score the policy as it stands; keep it if none before it was better."""
        expert = self.expert()
        score = score_with_noise(self.task, expert, self.seed)
        if score > self.best:
            self.best, self.kept = score, expert
        logger.info("%s, step %d: score with noise %.1f", self.task, step, score)


def write_expert(path: PathLike, policy: Expert) -> None:
    """Write a policy's layers as one safetensors file."""
    arrays = {f"{layer}.weight": policy.weights[layer] for layer in LAYERS}
    arrays |= {f"{layer}.bias": policy.biases[layer] for layer in LAYERS}
    with atomic_path(path) as temporary:
        save_file({name: np.ascontiguousarray(each) for name, each in arrays.items()}, temporary)


def write_record(path: PathLike, task: str, policy: Expert, training: dict[str, Any]) -> None:
    """Write what a policy scores and how it was trained, as JSON."""
    versions = {package: version(package) for package in ("mujoco", "gymnasium", "torch")}
    record = {"task": task, "measured": measured(task, policy), "training": training | versions}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

"""Data sets made here: a noisy expert's episodes, written in the layout of D4RL's v2 files.

As in D4RL's scripts/generation/mujoco/collect_data.py, `infos/qpos` and `infos/qvel` are the state
before the action, and an episode that reaches the time limit is a time-out even if it would have
ended there. Three things differ: the noise has one deviation everywhere; the last episode, which
the wanted number of steps cuts, ends with a time-out (D4RL leaves it open); and neither the policy
nor the probabilities of its actions are in the file.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from triptych.core.files import atomic_path
from triptych.rl.tasks.locomotion import Array, Locomotion
from triptych.rl.tasks.task import SIZES, task_named

logger = logging.getLogger(__name__)

SOURCE = "triptych rl_collect, not D4RL"
FIRST_COLLECTION_SEED = 4_000_000_000
EPISODES_AT_ONCE = 50

PathLike = str | os.PathLike[str]
Rows = dict[str, np.ndarray]

LAYERS = ("fc0", "fc1", "last_fc")
"""D4RL's names of a policy's layers."""


@dataclass(frozen=True)
class Expert:
    """clip(last_fc(tanh(fc1(tanh(fc0(observation))))), -1, 1): affine layers, float32.

    `weights` and `biases` by layer, in torch's layout: [outputs, inputs] and [outputs].
    """

    weights: dict[str, np.ndarray]
    biases: dict[str, np.ndarray]

    def __call__(self, observations: Array) -> Array:
        x = observations
        for layer in LAYERS[:-1]:
            x = np.tanh(x @ self.weights[layer].T.astype(np.float64) + self.biases[layer])
        last = LAYERS[-1]
        return np.clip(x @ self.weights[last].T.astype(np.float64) + self.biases[last], -1.0, 1.0)


def read_expert(path: PathLike, task: str) -> Expert:
    """The policy in a safetensors file. Raises ValueError for none, or one of another task."""
    try:
        arrays = load_file(Path(path))
        weights = {layer: arrays[f"{layer}.weight"] for layer in LAYERS}
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"{path}: no policy such as resources/experts holds ({error})") from error
    sizes = weights[LAYERS[0]].shape[1], weights[LAYERS[-1]].shape[0]
    if sizes != SIZES[task_named(task).name]:
        raise ValueError(f"{path} has {sizes[0]} observations and {sizes[1]} actions: not {task}'s")
    return Expert(weights, {layer: arrays[f"{layer}.bias"] for layer in LAYERS})


def collect(
    task: str, expert_path: PathLike, path: PathLike, transitions: int, sigma: float, seed: int
) -> None:
    """Roll the expert out for `transitions` steps and write them to the HDF5 file `path`.

    `sigma` is the action noise. The same arguments give the same bytes.
    """
    expert = read_expert(expert_path, task)
    environment = Locomotion(task, EPISODES_AT_ONCE)
    episodes: list[Rows] = []  # whole ones, in the order of their seeds
    missing = transitions
    while missing > 0:
        # No episode is longer than the horizon, so that many at least are needed.
        needed = min(EPISODES_AT_ONCE, -(-missing // environment.horizon))
        batch = _roll_out(environment, expert, sigma, seed, len(episodes), needed)
        episodes += batch
        missing -= sum(len(episode["rewards"]) for episode in batch)
    rows = {
        key: np.concatenate([episode[key] for episode in episodes])[:transitions]
        for key in episodes[0]
    }
    if not rows["terminals"][-1]:
        rows["timeouts"][-1] = True  # the last episode is cut
    about = {"source": SOURCE, "task": task, "seed": seed, "action_noise": sigma}
    _write(path, rows, about)
    returns = np.array([episode["rewards"].sum(dtype=np.float64) for episode in episodes])
    scores = task_named(task).score(returns)
    logger.info("%s: %d episodes, mean normalised score %.1f", path, len(scores), scores.mean())


def _roll_out(
    environment: Locomotion, expert: Expert, sigma: float, seed: int, first: int, count: int
) -> list[Rows]:
    """Episodes number `first` to `first + count - 1`, in lock-step."""
    horizon, size = environment.horizon, environment.action_size
    # One generator an episode: what it holds does not depend on how many run beside it.
    noise = np.zeros((environment.episodes, horizon, size))
    for episode in range(count):
        generator = np.random.default_rng([seed, first + episode])
        noise[episode] = generator.standard_normal((horizon, size))
    # Episode seeds of one collection lie together, those of the next a million further on.
    start = FIRST_COLLECTION_SEED + 1_000_000 * seed + first
    observations = environment.reset(range(start, start + environment.episodes))
    active = np.arange(environment.episodes) < count
    lengths = np.zeros(environment.episodes, dtype=np.int64)
    steps: list[Rows] = []
    for step in range(horizon):
        qpos, qvel = environment.qpos.copy(), environment.qvel.copy()
        # The file holds float32: act on what it will hold, so that it can be replayed from it.
        noisy = expert(observations) + sigma * noise[:, step]
        actions = np.clip(noisy, -1.0, 1.0).astype(np.float32)
        following, rewards, terminals = environment.step(actions, active)
        timeout = step == horizon - 1
        row: Rows = {
            "observations": observations,
            "actions": actions,
            "next_observations": following,
        }
        row |= {"rewards": rewards, "terminals": terminals & (not timeout)}
        row |= {"timeouts": np.full(environment.episodes, timeout)}
        row |= {"infos/qpos": qpos, "infos/qvel": qvel}
        steps.append(
            {key: x if x.dtype == bool else x.astype(np.float32) for key, x in row.items()}
        )
        lengths += active
        active = active & ~terminals
        observations = following
        if not active.any():
            break
    stacked = {key: np.stack([step[key] for step in steps], axis=1) for key in steps[0]}
    return [
        {key: values[episode, : lengths[episode]] for key, values in stacked.items()}
        for episode in range(count)
    ]


def _write(path: PathLike, rows: Rows, about: dict[str, Any]) -> None:
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as stream:
        stream.attrs.update(about)
        # Without time stamps, so that the same data are the same bytes.
        for key, values in rows.items():
            stream.create_dataset(key, data=values, track_times=False)

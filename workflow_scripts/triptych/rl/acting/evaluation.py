"""Roll-outs of K policies, all in lock-step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sampling import Scaling
from triptych.rl.networks.stacked import Parameters
from triptych.rl.tasks.environments import episodes_of
from triptych.rl.tasks.task import HORIZON, Task

STEPS_DRAWN = 100
"""Steps whose latents are drawn at once."""


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of evaluations; the references' values are in the comments."""

    episodes: int  # of each evaluation on the way, for the curves
    final_episodes: int  # of the last one, by which a run is scored
    candidates: int  # sampled actions of a BCQ act: 100 (sfujim/BCQ), 10 (BEAR's BCQ)
    seed: int  # of the episodes, beside each run's own
    task: Task
    horizon: int = HORIZON  # of an environment without a time limit


@torch.no_grad()
def evaluate(
    algorithm: Algorithm,
    parameters: Parameters,
    seeds: Sequence[int],
    settings: EvaluationSettings,
    update: int,
    final: bool,
    scaling: Scaling | None = None,
    interrupted: Callable[[], object] = lambda: None,
) -> pd.DataFrame | None:
    """Score K policies acting as `algorithm` does, one row a policy and episode.

    Columns: policy (0 to K-1), episode, return, score_normalised (`Task.score`), unit, steps.
    `seeds` [K] are the runs' own. They and `update` key starts and latents: rows of one seed face
    the same episodes, and no two seeds or evaluations share one. scaling: of the policies'
    observations; None is raw. None when `interrupted` said so on the way.
    """
    policies, episodes = len(seeds), settings.final_episodes if final else settings.episodes
    first = next(iter(parameters.values()))
    device, dtype = first.device, first.dtype
    acting = algorithm.acting(settings.candidates)
    simulation = episodes_of(settings.task, policies * episodes, settings.horizon)
    starts = [start for seed in seeds for start in _starts(settings.seed, seed, update, episodes)]
    observations = simulation.reset(starts).reshape(policies, episodes, -1)
    running = np.ones((policies, episodes), dtype=bool)
    returns, steps = np.zeros(running.shape), np.zeros(running.shape, dtype=int)
    shape = episodes, acting.draws, 2 * simulation.action_size
    drawn = latents(seeds, update, shape, device, dtype)
    live, subset, seen = np.arange(policies), parameters, scaling
    for _, latent in zip(range(simulation.horizon), drawn, strict=False):
        if not running.any():
            break
        if interrupted():
            return None
        still = np.flatnonzero(running.any(1))
        if len(still) < len(live):
            live = still
            chosen = torch.as_tensor(live, device=device)
            subset = {name: value[chosen] for name, value in parameters.items()}
            seen = scaling.rows(chosen) if scaling else None
        state = torch.as_tensor(observations[live]).to(device, dtype)
        state = seen(state) if seen else state
        clamped = latent[torch.as_tensor(live, device=device)].clamp(-acting.clip, acting.clip)
        chosen_actions = acting.act(subset, state, clamped)
        actions = np.zeros((policies, episodes, simulation.action_size))
        actions[live] = chosen_actions.double().cpu().numpy()
        observed, rewards, ended = simulation.step(
            actions.reshape(policies * episodes, -1), running.reshape(-1)
        )
        observations = observed.reshape(policies, episodes, -1)
        returns += rewards.reshape(running.shape)
        steps += running
        running &= ~ended.reshape(running.shape)
    policy, episode = (indices.ravel() for indices in np.indices(running.shape))
    columns: dict[str, Any] = {"policy": policy, "episode": episode, "return": returns.ravel()}
    columns |= {"score_normalised": settings.task.score(returns).ravel()}
    return pd.DataFrame({**columns, "unit": settings.task.unit, "steps": steps.ravel()})


def _starts(*key: int) -> list[int]:
    """Seeds of episodes, as many as the last number says, keyed by the others."""
    return [int(one) for one in np.random.SeedSequence(key[:-1]).generate_state(key[-1])]


def latents(
    seeds: Sequence[int],
    update: int,
    shape: tuple[int, ...],
    device: torch.device,
    dtype: torch.dtype,
) -> Iterator[Tensor]:
    """Standard normal latents [K, *shape] of one step after another, keyed by seed and update."""
    unique = sorted(set(seeds))
    rows = [unique.index(seed) for seed in seeds]
    generators = [keyed_generator(device, "evaluate", seed, update) for seed in unique]
    while True:
        draws = [
            torch.randn((STEPS_DRAWN, *shape), generator=generator, device=device)
            for generator in generators
        ]
        drawn = torch.stack(draws).to(dtype)
        for step in range(STEPS_DRAWN):
            yield drawn[rows, step]

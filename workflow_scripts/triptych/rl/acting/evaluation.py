"""Roll-outs of K policies over the same episodes, all in lock-step.

One batched product acts for every running episode of every policy, and the simulations advance
side by side. Acting one policy at a time costs more than its training (a BCQ act decodes tens of
candidate actions).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.core.oom_retry import OomRetry
from triptych.rl.algorithms.losses import acting_of
from triptych.rl.algorithms.networks import ADVICE, Act, Parameters
from triptych.rl.algorithms.registry import Algorithm
from triptych.rl.tasks.environments import episodes_of
from triptych.rl.tasks.task import ACTION_ERROR, Task
from triptych.rl.tasks.transitions import Validation

STEPS_DRAWN = 100
"""Steps whose latents are drawn at once."""
BLOCK = 4096
"""Steps of a log whose actions are found at once."""


@dataclass(frozen=True)
class EvaluationSettings:
    """How policies are scored; the references' values stand behind each."""

    episodes: int  # 10
    candidates: int  # sampled actions of a BCQ act: 100 (sfujim/BCQ), 10 (BEAR's BCQ)
    seed: int  # of the episodes; the same for every policy and every evaluation
    task: Task
    validation: Validation | None = None  # of a log, which can't be played


def _in_portions(
    act: Act, parameters: Parameters, observations: Tensor, latent: Tensor, size: int
) -> Tensor:
    """The actions of `size` policies at a time."""
    if size >= len(observations):
        return act(parameters, observations, latent)
    parts = [slice(first, first + size) for first in range(0, len(observations), size)]
    own = [{name: value[part] for name, value in parameters.items()} for part in parts]
    return torch.cat(
        [act(each, observations[p], latent[p]) for each, p in zip(own, parts, strict=True)]
    )


@torch.no_grad()
def evaluate(
    algorithm: Algorithm,
    parameters: Parameters,
    seeds: Sequence[int],
    settings: EvaluationSettings,
    interrupted: Callable[[], object] = lambda: None,
) -> pd.DataFrame | None:
    """Score K policies acting as `algorithm` does, one row a policy and episode.

    Columns: policy (0 to K-1), episode, return, score_normalised (`Task.score`), unit, steps.
    `seeds` [K] are the runs' own and key the latents, so that rows of one seed face the same noise.
    Of a log the episodes are those held out (`action_errors`). None when `interrupted` said so on
    the way.
    """
    policies, episodes = len(seeds), settings.episodes
    first = next(iter(parameters.values()))
    device, dtype = first.device, first.dtype
    acting = acting_of(algorithm, settings.candidates)
    portion = OomRetry(policies, "policies", ADVICE)
    if settings.validation is not None:

        def act_all(state: Tensor, latent: Tensor) -> Tensor:
            return portion.run(partial(_in_portions, acting.act, parameters, state, latent))

        return action_errors(act_all, first, settings.validation, interrupted)
    simulation = episodes_of(settings.task, policies * episodes)
    starts = [settings.seed * 1_000_003 + episode for episode in range(episodes)]
    observations = simulation.reset(starts * policies).reshape(policies, episodes, -1)
    running = np.ones((policies, episodes), dtype=bool)
    returns, steps = np.zeros(running.shape), np.zeros(running.shape, dtype=int)
    clip, drawn = acting.clip, (episodes, acting.draws, 2 * simulation.action_size)
    latents = _Latents(seeds, drawn, device, dtype)
    live, subset = np.arange(policies), parameters
    for step in range(simulation.horizon):
        if not running.any():
            break
        if interrupted():
            return None
        still = np.flatnonzero(running.any(1))
        if len(still) < len(live):
            live = still
            chosen = torch.as_tensor(live, device=device)
            subset = {name: value[chosen] for name, value in parameters.items()}
        state = torch.as_tensor(observations[live]).to(device, dtype)
        latent = latents.at(step)[torch.as_tensor(live, device=device)].clamp(-clip, clip)
        chosen_actions = portion.run(partial(_in_portions, acting.act, subset, state, latent))
        actions = np.zeros((policies, episodes, simulation.action_size))
        actions[live] = chosen_actions.double().cpu().numpy()
        observed, rewards, ended = simulation.step(
            actions.reshape(policies * episodes, -1), running.reshape(-1)
        )
        observations = observed.reshape(policies, episodes, -1)
        returns += rewards.reshape(running.shape)
        steps += running
        running &= ~ended.reshape(running.shape)
    return _records(returns, settings.task.score(returns), settings.task.unit, steps)


def _records(returns: Any, scores: np.ndarray, unit: str, steps: np.ndarray) -> pd.DataFrame:
    """A row a policy and episode; scores and what else is an array are [policies, episodes]."""
    policy, episode = np.indices(scores.shape)
    columns = {"policy": policy, "episode": episode, "return": returns}
    columns |= {"score_normalised": scores, "unit": unit, "steps": steps}
    return pd.DataFrame(
        {name: np.broadcast_to(each, scores.shape).ravel() for name, each in columns.items()}
    )


@torch.no_grad()
def action_errors(
    act: Callable[[Tensor, Tensor], Tensor],
    like: Tensor,
    held: Validation,
    interrupted: Callable[[], object],
) -> pd.DataFrame | None:
    """The error of each of K policies on each held-out episode, a row each; None if interrupted.

    A log has no simulator, so nothing can be played. The score is the normalised mean squared
    error of the actions (the fraction of variance unexplained, one less R²): 0 for the logged
    actions themselves, 1 for always giving their mean.

    act: actions [K, B, A] by observations [K, B, S] and latents [K, B, 1, 2A], which are zero here,
    their mean: what is scored is a policy without its noise.
    like: any parameter [K, ...], of the right device and dtype.
    Columns: policy, episode, return (none), score_normalised (the error), unit, steps.
    """
    policies, (steps, size) = len(like), held.actions.shape
    squared = np.zeros((policies, steps))
    for first in range(0, steps, BLOCK):
        if interrupted():
            return None
        rows = slice(first, first + BLOCK)
        seen = torch.as_tensor(held.observations[rows]).to(like).expand(policies, -1, -1)
        found = act(seen, seen.new_zeros(*seen.shape[:2], 1, 2 * size)).double().cpu().numpy()
        squared[:, rows] = ((found - held.actions[rows]) ** 2).sum(axis=2)
    starts = np.concatenate([[0], held.ends[:-1] + 1])
    lengths = held.ends - starts + 1
    errors = np.add.reduceat(squared, starts, axis=1) / lengths / held.variance()
    return _records(np.nan, errors, ACTION_ERROR, lengths)


class _Latents:
    """Standard normal latents of every policy at each step, keyed by the policy's seed."""

    def __init__(
        self, seeds: Sequence[int], shape: tuple[int, ...], device: torch.device, dtype: torch.dtype
    ) -> None:
        self._unique = sorted(set(seeds))
        self._row = [self._unique.index(seed) for seed in seeds]
        self._generators = [keyed_generator(device, "evaluate", seed) for seed in self._unique]
        self._shape, self._device, self._dtype = shape, device, dtype
        self._drawn = torch.empty(0)

    def at(self, step: int) -> Tensor:
        """Latents [K, *shape] of step `step`; the steps must be asked for in order."""
        slot = step % STEPS_DRAWN
        if slot == 0:
            draws = [
                torch.randn((STEPS_DRAWN, *self._shape), generator=generator, device=self._device)
                for generator in self._generators
            ]
            self._drawn = torch.stack(draws).to(self._dtype)
        return self._drawn[self._row, slot]

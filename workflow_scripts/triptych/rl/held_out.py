"""What a log's policies are scored by: how far their actions are from episodes held out of it.

A log has no simulator, so nothing can be played. The score is the normalised mean squared error of
the actions (the fraction of variance unexplained, one less R²): 0 for the logged actions
themselves, 1 for always giving their mean.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.rl.tasks import ACTION_ERROR

Floats = NDArray[np.float32]
BLOCK = 4096
"""Steps whose actions are found at once."""


@dataclass(frozen=True)
class HeldOut:
    """Episodes that nothing is trained on, one after another: [N, S], [N, A] in [-1, 1].

    ends: indices of the last step of each.
    """

    observations: Floats
    actions: Floats
    ends: NDArray[np.int64]

    def variance(self) -> float:
        """Of all steps' actions, summed over the numbers of an action."""
        return float(self.actions.var(axis=0, dtype=np.float64).sum())


def chosen_episodes(episodes: int, share: float) -> NDArray[np.int64]:
    """Which of a log's episodes are held out: a share of them at random, at least one.

    The same for the same number of episodes, wherever and whenever.
    """
    count = max(1, round(share * episodes))
    return np.sort(np.random.default_rng(0).permutation(episodes)[:count])


@torch.no_grad()
def action_errors(
    act: Callable[[Tensor, Tensor], Tensor],
    like: Tensor,
    held: HeldOut,
    interrupted: Callable[[], object],
) -> pd.DataFrame | None:
    """The error of each of K policies on each held-out episode, a row each; None if interrupted.

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
    policy, episode = np.indices(errors.shape)
    return pd.DataFrame(
        {
            "policy": policy.ravel(),
            "episode": episode.ravel(),
            "return": np.nan,
            "score_normalised": errors.ravel(),
            "unit": ACTION_ERROR,
            "steps": np.broadcast_to(lengths, errors.shape).ravel(),
        }
    )

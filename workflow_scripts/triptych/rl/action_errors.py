"""How far policies' actions are from those of a log's held-out episodes.

A log has no simulator, so nothing can be played. The score is the normalised mean squared error of
the actions (the fraction of variance unexplained, one less R²): 0 for the logged actions
themselves, 1 for always giving their mean.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.rl.held_out import HeldOut
from triptych.rl.tasks import ACTION_ERROR

BLOCK = 4096
"""Steps whose actions are found at once."""


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

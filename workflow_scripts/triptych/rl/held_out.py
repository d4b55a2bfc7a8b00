"""What a log's policies are scored by: episodes that nothing was trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


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

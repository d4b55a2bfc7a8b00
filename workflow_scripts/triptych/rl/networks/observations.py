"""Raw observations, or observations normalised over the data set.

`raw` as sfujim/BCQ, or `normalised` to (s - mean) / (deviation + 0.001) of the data set, as TD3+BC
(Fujimoto and Gu 2021, section 4). The map stays apart from the weights, in training, scoring and
stored policies alike: folded into float32 biases it would lose what an input with a large mean and
a small deviation says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST = 1e-3
"""Added to every deviation, so that an input that hardly changes is not blown up."""


@dataclass(frozen=True)
class Scaling:
    """Map from observations s to the inputs of K networks: (s - shift) * scale, both [K, S]."""

    shift: Tensor
    scale: Tensor

    def __call__(self, observations: Tensor) -> Tensor:
        """Scale a batch [K, B, S]. Raw observations come back bit for bit."""
        return (observations - self.shift[:, None]) * self.scale[:, None]

    def rows(self, chosen: Tensor) -> "Scaling":
        """The maps of the chosen networks."""
        return Scaling(self.shift[chosen], self.scale[chosen])


def scaling(kinds: Sequence[str], observations: Tensor) -> Scaling:
    """The scaling of each of K networks over a data set's observations [N, S].

    kinds: `raw` or `normalised` for each network. An input that never changes has scale 0.
    """
    deviation, mean = torch.std_mean(observations.double(), 0, correction=0)
    moved = {
        "raw": (torch.zeros_like(mean), torch.ones_like(mean)),
        "normalised": (mean, torch.where(deviation > 0, 1 / (deviation + SMALLEST), 0.0)),
    }
    shift, scale = (torch.stack(rows) for rows in zip(*(moved[k] for k in kinds), strict=True))
    return Scaling(shift.to(observations.dtype), scale.to(observations.dtype))

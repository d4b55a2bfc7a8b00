"""Raw observations, or observations normalised over the data set.

`raw` as sfujim/BCQ, or `normalised` to (s - mean) / (deviation + 0.001) of the data set, as TD3+BC
(Fujimoto and Gu 2021, section 4). The map goes into the first layers when training is over: a
stored policy acts on raw observations either way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST = 1e-3
"""Added to every deviation, so that an input that never changes is not blown up."""
SHIFT, SCALE = "observations.shift", "observations.scale"
"""`Scaling` among a policy's stored arrays."""


@dataclass(frozen=True)
class Scaling:
    """Map from observations s to the inputs of K networks: (s - shift) * scale, both [K, S]."""

    shift: Tensor
    scale: Tensor

    def __call__(self, observations: Tensor) -> Tensor:
        """Scale a batch [K, B, S]. Raw observations come back bit for bit."""
        return (observations - self.shift[:, None]) * self.scale[:, None]


def scaling(kinds: Sequence[str], observations: Tensor) -> Scaling:
    """The scaling of each of K networks over a data set's observations [N, S].

    kinds: `raw` or `normalised` for each network.
    """
    deviation, mean = torch.std_mean(observations.double(), 0, correction=0)
    moved = {
        "raw": (torch.zeros_like(mean), torch.ones_like(mean)),
        "normalised": (mean, 1 / (deviation + SMALLEST)),
    }
    shift, scale = (torch.stack(rows) for rows in zip(*(moved[k] for k in kinds), strict=True))
    return Scaling(shift.to(observations.dtype), scale.to(observations.dtype))


def folded(
    parameters: Mapping[str, Tensor], transform: Scaling, first_layers: Iterable[str]
) -> dict[str, Tensor]:
    """Parameters of K networks, weights [K, in, out] and biases [K, 1, out], for raw observations.

    first_layers: those that read observations. Over the observations i, in float64,
    W'[i] = scale[i] W[i] and b' = b - sum_i shift[i] W'[i].
    """
    changed = dict(parameters)
    size = transform.shift.shape[1]
    shift, scale = transform.shift.double()[..., None], transform.scale.double()[..., None]
    for layer in first_layers:
        weight, bias = parameters[f"{layer}.weight"], parameters[f"{layer}.bias"]
        scaled = weight[:, :size].double() * scale
        changed[f"{layer}.weight"] = torch.cat((scaled.to(weight.dtype), weight[:, size:]), 1)
        changed[f"{layer}.bias"] = (bias - (shift * scaled).sum(1, keepdim=True)).to(bias.dtype)
    return changed

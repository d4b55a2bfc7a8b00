"""Batches of a data set as a stack's networks see them, drawn by each row's seed alone.

Rows that share a seed share every draw (batches, noise, episodes), whatever their stack. They see
observations `raw` as in sfujim/BCQ, or `normalised` to (s - mean) / (deviation + 0.001) of the data
set, as in TD3+BC (Fujimoto and Gu 2021, section 4). That map stays apart from the weights, in
training, scoring and stored policies alike: folded into float32 biases it would lose what an input
with a large mean and a small deviation says.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.stacked import Batch, Noise
from triptych.rl.tasks.transitions import Transitions

CHUNK = 50
"""Updates whose draws are made at once: large enough to amortise the calls."""
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


class DeviceData:
    """Transitions as tensors on the training device, indexed [rows, batch] at a time.

    All rows see raw observations unless `seen_as` says otherwise.
    """

    scaling: Scaling | None = None
    """Scaling of the rows' observations; None is raw."""

    def __init__(self, data: Transitions, device: torch.device, dtype: torch.dtype) -> None:
        def put(array: object) -> Tensor:
            return torch.as_tensor(array).to(device, dtype)

        self.observations = put(data.observations)
        self.actions = put(data.actions)
        self.rewards = put(data.rewards)
        self.next_observations = put(data.next_observations)
        self.not_done = 1 - put(data.terminals)

    @property
    def sizes(self) -> tuple[int, int]:
        return self.observations.shape[1], self.actions.shape[1]

    def __len__(self) -> int:
        return len(self.rewards)

    def seen_as(self, kinds: Sequence[str]) -> "DeviceData":
        """A view of the data for K rows that read `raw` or `normalised` observations."""
        same = copy.copy(self)
        same.scaling = None if set(kinds) <= {"raw"} else scaling(kinds, self.observations)
        return same

    def batch(self, index: Tensor) -> Batch:
        """The transitions at `index` [K, B]."""
        return Batch(
            self._seen(self.observations[index]),
            self.actions[index],
            self.rewards[index],
            self._seen(self.next_observations[index]),
            self.not_done[index],
        )

    def _seen(self, observations: Tensor) -> Tensor:
        return observations if self.scaling is None else self.scaling(observations)


class Draws:
    """Batch indices and noise of every update of a stack, made chunk by chunk.

    The draws of an update are keyed by seed, chunk and `purpose`, so that a resumed run has the
    same.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        data: DeviceData,
        batch: int,
        algorithm: Algorithm,
        purpose: str = "train",
    ) -> None:
        device, self._dtype = data.rewards.device, data.rewards.dtype
        self._unique = sorted(set(seeds))
        self._row = torch.tensor([self._unique.index(seed) for seed in seeds], device=device)
        self._transitions, self._batch = len(data), batch
        self._rows = {name: batch * draws for name, draws in algorithm.noise().items()}
        self._size = data.actions.shape[1] * (2 if algorithm.noise_size == "latent" else 1)
        self._device, self._purpose = device, purpose
        self._chunk = -1
        self._index = self._normal = torch.empty(0)

    def at(self, update: int) -> tuple[Tensor, Noise]:
        """Indices [K, B] and noise for update number `update` (from 0)."""
        chunk, slot = divmod(update, CHUNK)
        if chunk != self._chunk:
            self._draw(chunk)
        normal = self._normal[self._row, slot].split(list(self._rows.values()), 1)
        noise = dict(zip(self._rows, normal, strict=True))
        return self._index[self._row, slot], noise

    def _draw(self, chunk: int) -> None:
        indices, normals = [], []
        for seed in self._unique:
            generator = keyed_generator(self._device, self._purpose, seed, chunk)
            among = (self._transitions, (CHUNK, self._batch))
            indices.append(torch.randint(*among, generator=generator, device=self._device))
            shape = (CHUNK, sum(self._rows.values()), self._size)
            normal = torch.randn(shape, generator=generator, device=self._device)
            normals.append(normal.to(self._dtype))
        self._index, self._normal = torch.stack(indices), torch.stack(normals)
        self._chunk = chunk

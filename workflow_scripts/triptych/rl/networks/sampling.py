"""Random draws that depend on a row's seed alone.

Rows that share a seed share every draw (batches, noise, episodes), whatever their stack.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from triptych.core.device import keyed_generator
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.observations import Scaling, scaling
from triptych.rl.networks.stacked import Batch, Noise
from triptych.rl.tasks.transitions import Transitions

CHUNK = 50
"""Updates whose draws are made at once: large enough to amortise the calls."""


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
        """Numbers of an observation and of an action."""
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

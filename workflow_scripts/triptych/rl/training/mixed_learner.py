"""A stack whose very sparse runs train with their kept weights only, and the others dense."""

from collections.abc import Collection, Mapping
from dataclasses import fields

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.rl.methods import CRITERIA, DENSE
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.stacked import Batch, Noise, Parameters, network_of
from triptych.rl.training.learner import Learner, StepSettings

SPARSE_DENSITY = 0.21
"""Share of its weights up to which a run trains with those alone on a CPU: 80% sparsity, rounded.

Updates a second over the dense twins' in float32 (stacks of 2 and 4 of BC, BCQ and TD3+BC at the
paper's widths, AVX2, one thread): 3.6 to 5 at 5%, 2.0 to 3.4 at 10%, 1.8 to 2.2 at 15%, 1.6 to 2.0
at 20%; at the narrow widths 1.2 to 1.7 at 20%. More was not tried.
"""


def sparse_runs(
    rows: pd.DataFrame,
    masks: Mapping[str, np.ndarray],
    networks: Collection[str],
    device: torch.device,
) -> tuple[int, ...]:
    """Places of the runs that train faster with their kept weights alone.

    Those of a CPU whose masks don't change and keep at most SPARSE_DENSITY of the weights.
    masks: boolean [K, in, out] by weight name. networks: those that learn.
    """
    if device.type != "cpu":
        return ()
    learning = [mask for name, mask in masks.items() if network_of(name) in networks]
    weights = sum(mask[0].size for mask in learning)
    kept_count = sum(np.count_nonzero(mask, axis=(1, 2)) for mask in learning)
    return tuple(
        k
        for k, (method, share) in enumerate(zip(rows["method"], kept_count / weights, strict=True))
        if method != DENSE and not CRITERIA[method].changes_masks and share <= SPARSE_DENSITY
    )


class MixedLearner:
    """K networks, moved one update at a time: `Learner`s of the dense and of the sparse ones.

    sparse: places of the networks that train with their kept weights alone. dense: learner of the
    others, at the places `dense_rows`; None where there are none. For all else see `Learner`.
    """

    def __init__(
        self,
        parameters: Parameters,
        masks: Parameters,
        algorithm: Algorithm,
        steps: StepSettings,
        masks_change: bool = False,
        sparse: Collection[int] = (),
    ) -> None:
        first = next(iter(parameters.values()))
        self.device, self.count = first.device, len(first)
        self.dense_rows = [k for k in range(self.count) if k not in sparse]

        def learner(places: list[int], changes: bool, alone: bool) -> Learner:
            initial = {name: value[places] for name, value in parameters.items()}
            kept_masks = {name: value[places] for name, value in masks.items()}
            return Learner(
                initial, kept_masks, algorithm, steps, masks_change=changes, sparse=alone
            )

        self._parts: dict[str, tuple[Tensor, Learner]] = {}
        self.dense: Learner | None = None
        if self.dense_rows:
            self.dense = learner(self.dense_rows, masks_change, False)
            self._parts["dense"] = self._index(self.dense_rows), self.dense
        if sparse:
            places = sorted(sparse)
            self._parts["sparse"] = self._index(places), learner(places, False, True)
        self._learners = [learner for _, learner in self._parts.values()]
        one = self._learners[0]
        self.networks, self.period, self.portion = one.networks, one.period, one.portion

    def _index(self, places: list[int]) -> Tensor:
        return torch.tensor(places, device=self.device)

    def moved(self, network: str, updates: int) -> int:
        """Number of times that a network has moved in the first `updates` updates."""
        return self._learners[0].moved(network, updates)

    def set_rate(self, rate: float) -> None:
        """The learning rate of the updates that follow."""
        for learner in self._learners:
            learner.set_rate(rate)

    def update(self, batch: Batch, noise: Noise, number: int = 0) -> dict[str, Tensor]:
        """One update of all, number `number` from 0; the losses [K] of each network before it."""
        if len(self._learners) == 1:
            return self._learners[0].update(batch, noise, number)
        losses = {name: torch.empty_like(batch.rewards[:, 0]) for name in self.networks}
        for index, learner in self._parts.values():
            part_batch = Batch(*(getattr(batch, field.name)[index] for field in fields(batch)))
            part_noise = {name: value[index] for name, value in noise.items()}
            for name, loss in learner.update(part_batch, part_noise, number).items():
                losses[name][index] = loss.to(losses[name].dtype)
        return losses

    @property
    def parameters(self) -> Parameters:
        """All networks' as [K, in, out] and [K, 1, out], detached, zero where no weight is kept."""
        parts = [(index, learner.dense()) for index, learner in self._parts.values()]
        if len(parts) == 1:
            return parts[0][1]
        (_, first), _ = parts
        whole = {
            name: value.new_empty(self.count, *value.shape[1:]) for name, value in first.items()
        }
        for index, part in parts:
            for name, value in part.items():
                whole[name][index] = value
        return whole

    def finite(self) -> Tensor:
        """Whether all parameters of a network are finite, [K]."""
        finite = torch.empty(self.count, dtype=torch.bool, device=self.device)
        for index, learner in self._parts.values():
            finite[index] = learner.finite()
        return finite

    def clear(self, rows: Collection[int]) -> None:
        """Set all that these networks' next updates depend on to zero."""
        for index, learner in self._parts.values():
            learner.clear([n for n, k in enumerate(index.tolist()) if k in rows])

    def state(self) -> Parameters:
        """Every tensor that the next update depends on, by name; not copies."""
        return {
            f"{part}/{name}": value
            for part, (_, learner) in self._parts.items()
            for name, value in learner.state().items()
        }

    def restore(self, state: Parameters) -> None:
        """Copy a state of the same networks into these learners' own tensors."""
        for name, value in self.state().items():
            value.copy_(state[name])

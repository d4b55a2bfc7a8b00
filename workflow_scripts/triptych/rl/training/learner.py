"""K networks of one algorithm, moved one update at a time.

Losses come back as one value a row, [K]; the gradient of their sum is each row's own gradient.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.rl.methods import CRITERIA, DENSE
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sparse import SparseParameters
from triptych.rl.networks.stacked import Batch, Noise, Parameters, apply_masks, network_of, select

SPARSE_DENSITY = 0.21
"""Share of its weights up to which a run trains with those alone on a CPU: 80% sparsity, rounded.

Updates a second over the dense twins' in float32 (stacks of 2 and 4 of BC, BCQ and TD3+BC at the
paper's widths, AVX2, one thread): 3.6 to 5 at 5%, 2.0 to 3.4 at 10%, 1.8 to 2.2 at 15%, 1.6 to 2.0
at 20%; at the narrow widths 1.2 to 1.7 at 20%. More was not tried.
"""
MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class StepSettings:
    """Settings of an update; the values of sfujim/BCQ are in the comments."""

    batch: int  # 100
    learning_rate: float  # 1e-3, Adam, all networks
    tau: float  # 0.005, share of the way that the target networks go
    schedule: str = "constant"  # or cosine: the rate goes down to 0 over the whole training

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "StepSettings":
        """Settings of the config's `rl.training`, whose other keys are not of a step."""
        return cls(**{field.name: table[field.name] for field in fields(cls)})

    def rate(self, update: int, updates: int) -> float:
        """The learning rate of update number `update` (from 0) of so many."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (1 + math.cos(math.pi * update / updates)) / 2


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


class _Part:
    """The dense networks of a stack, or those that hold their kept weights alone.

    rows: their places in the stack. masks: as numbers, empty where weights that masks cut aren't
    held at all.
    """

    def __init__(
        self, rows: list[int], parameters: Parameters, masks: Parameters, sparse: bool
    ) -> None:
        self.rows = rows
        own_masks = {name: mask[rows] for name, mask in masks.items()}
        own = {name: value[rows] for name, value in parameters.items()}
        self.masks: Parameters = {}
        self.targets: Parameters = {}
        if sparse:
            self.parameters: Parameters = SparseParameters.pruned(own, own_masks)
        else:
            # As numbers: multiplying by booleans would convert them at every update.
            self.masks = {name: mask.to(own[name].dtype) for name, mask in own_masks.items()}
            # Fused Adam reads parameters and moments by memory order, and indexing keeps its
            # source's.
            self.parameters = {
                name: value.clone(memory_format=torch.contiguous_format)
                for name, value in apply_masks(own, own_masks).items()
            }

    def follow(self, networks: Collection[str]) -> None:
        """Make target networks, copies of these networks."""
        self.targets = {
            name: value.clone()
            for name, value in self.parameters.items()
            if network_of(name) in networks
        }
        if isinstance(self.parameters, SparseParameters):
            self.targets = SparseParameters(self.targets, self.parameters.patterns)

    def dense(self) -> Parameters:
        """The parameters as [K, in, out] and [K, 1, out], detached."""
        if isinstance(self.parameters, SparseParameters):
            return self.parameters.dense()
        return {name: value.detach() for name, value in self.parameters.items()}

    def present_masks(self) -> Parameters:
        """The masks as booleans [K, in, out]."""
        if isinstance(self.parameters, SparseParameters):
            return self.parameters.masks()
        return {name: mask > 0 for name, mask in self.masks.items()}

    def views(self, name: str, value: Tensor) -> Sequence[Tensor]:
        """Views of each network's part of a parameter, or of a moment of it."""
        if isinstance(self.parameters, SparseParameters):
            return self.parameters.views(name, value.detach())
        return value.detach().unbind()


class Learner:
    """Parameters, targets and optimiser moments of K networks, moved one update at a time.

    `masks` holds one boolean tensor [K, in, out] for each weight, or is empty for dense networks;
    masked weights and their moments stay exactly zero. `parameters` are copied. With
    `masks_change` the masks are part of `state`. sparse: places of the networks of which only the
    kept weights are held and computed with: for CPUs, and masks that stay.
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
        self.device, self.count, self._tau = first.device, len(first), steps.tau
        self._losses, self._delayed = algorithm.losses(), algorithm.delayed_networks()
        self.networks, self.period = algorithm.update_order(), algorithm.period()
        self._masks_change = masks_change
        dense = [k for k in range(self.count) if k not in sparse]
        self._parts = {
            name: _Part(rows, parameters, masks, sparse=name == "sparse")
            for name, rows in (("dense", dense), ("sparse", sorted(sparse)))
            if rows
        }
        for part in self._parts.values():
            part.follow([name for name in self.networks if name in algorithm.target_networks])
            for value in part.parameters.values():
                value.requires_grad_()
        self._optimisers = {name: self._optimiser(name, steps) for name in self.networks}

    def _optimiser(self, network: str, steps: StepSettings) -> torch.optim.Adam:
        # On a GPU a tensor, which a recorded update reads anew.
        on_gpu = self.device.type == "cuda"
        rate = torch.tensor(steps.learning_rate, device=self.device)
        trained = [
            value
            for part in self._parts.values()
            for value in select(part.parameters, network).values()
        ]
        optimiser = torch.optim.Adam(
            trained, lr=rate if on_gpu else steps.learning_rate, fused=True, capturable=on_gpu
        )
        # Adam would make its moments at the first step; made here, they have addresses that a
        # CUDA graph and `restore` can rely on.
        for parameter in trained:
            optimiser.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=self.device),
                **{moment: torch.zeros_like(parameter) for moment in MOMENTS},
            }
        return optimiser

    def set_rate(self, rate: float) -> None:
        """The learning rate of the updates that follow."""
        for optimiser in self._optimisers.values():
            (group,) = optimiser.param_groups
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def moved(self, network: str, updates: int) -> int:
        """Number of times that a network has moved in the first `updates` updates."""
        return updates // self.period if network in self._delayed else updates

    def update(self, batch: Batch, noise: Noise, number: int = 0) -> dict[str, Tensor]:
        """One update in the reference's order; the losses [K] of each network before its step.

        number: of the update, from 0; the remainder by `period` decides which networks move. The
        losses of one that stays are given as 0.
        """
        ends = (number + 1) % self.period == 0
        inputs = [self._inputs(part, batch, noise) for part in self._parts.values()]
        losses = {}
        for network in self.networks:
            losses[network] = torch.zeros_like(batch.rewards[:, 0])
            if ends or network not in self._delayed:
                for part, given in zip(self._parts.values(), inputs, strict=True):
                    loss = self._descend(part, network, *given)
                    losses[network] = self._put(losses[network], part, loss)
                self._optimisers[network].step()
        if ends:
            for part in self._parts.values():
                if part.targets:
                    moving = [part.parameters[name] for name in part.targets]
                    with torch.no_grad():
                        torch._foreach_lerp_(list(part.targets.values()), moving, self._tau)
        return losses

    def _inputs(self, part: _Part, batch: Batch, noise: Noise) -> tuple[Batch, Noise]:
        """The batch and noise of a part's networks."""
        if len(self._parts) == 1:
            return batch, noise
        own = Batch(*(getattr(batch, field.name)[part.rows] for field in fields(batch)))
        return own, {name: value[part.rows] for name, value in noise.items()}

    def _put(self, whole: Tensor, part: _Part, values: Tensor) -> Tensor:
        """A tensor [K, ...] with values in the rows of a part."""
        if len(self._parts) == 1:
            return values
        whole[part.rows] = values.to(whole.dtype)
        return whole

    def _descend(self, part: _Part, network: str, batch: Batch, noise: Noise) -> Tensor:
        """Give a network's parameters their gradients; return its losses."""
        trained = select(part.parameters, network)
        loss = self._losses[network](part.parameters, part.targets, batch, noise)
        gradients = torch.autograd.grad(loss.sum(), list(trained.values()))
        for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
            # Fused Adam reads both by memory order; autograd.grad may return transposed views.
            gradient = gradient.contiguous()
            masked = name in part.masks
            parameter.grad = gradient.mul_(part.masks[name]) if masked else gradient
        return loss.detach()

    @property
    def parameters(self) -> Parameters:
        """All networks' as [K, in, out] and [K, 1, out], detached, zero where no weight is kept."""
        return self._whole({name: part.dense() for name, part in self._parts.items()})

    def masks(self) -> Parameters:
        """The present masks of all, boolean [K, in, out] by weight name."""
        return self._whole({name: part.present_masks() for name, part in self._parts.items()})

    def _whole(self, values: Mapping[str, Parameters]) -> Parameters:
        """Tensors [K, ...] of the whole stack from those of its parts."""
        first = next(iter(values.values()))
        if len(values) == 1:
            return first
        whole = {name: part.new_empty(self.count, *part.shape[1:]) for name, part in first.items()}
        for kind, part in values.items():
            for name, value in part.items():
                whole[name][self._parts[kind].rows] = value
        return whole

    def change_masks(self, k: int, masks: Parameters) -> None:
        """Give a dense network other masks, [1, in, out]: what is cut is forgotten, what comes is
        zero.

        The target networks go on averaging, so that what is cut fades from them.
        """
        part = self._parts["dense"]
        row = part.rows.index(k)
        for name, (mask,) in masks.items():
            parameter, optimiser = part.parameters[name], self._optimisers.get(network_of(name))
            moments = optimiser.state[parameter] if optimiser else {}
            part.masks[name][row] = mask.to(parameter.dtype)
            for values in (parameter.detach(), *(moments[m] for m in MOMENTS if m in moments)):
                values[row].masked_fill_(~mask, 0.0)

    def finite(self) -> Tensor:
        """Whether all parameters of a network are finite, [K]."""
        finite = torch.empty(self.count, dtype=torch.bool, device=self.device)
        for part in self._parts.values():
            rows = [
                torch.stack([view.isfinite().all() for view in part.views(name, value)])
                for name, value in part.parameters.items()
            ]
            finite[part.rows] = torch.stack(rows).all(0)
        return finite

    def clear(self, rows: Collection[int]) -> None:
        """Set all that these networks' next updates depend on to zero, but for their masks."""
        for key, value in self.state().items():
            kind, content, *_, name = key.split("/")
            if value.dim() and content != "masks":
                part = self._parts[kind]
                for k, view in zip(part.rows, part.views(name, value), strict=True):
                    if k in rows:
                        view.zero_()

    def state(self) -> Parameters:
        """Every tensor that the next update depends on, by name; not copies."""
        state: Parameters = {}
        for kind, part in self._parts.items():
            state |= {
                f"{kind}/parameters/{n}": value.detach() for n, value in part.parameters.items()
            }
            state |= {f"{kind}/targets/{name}": value for name, value in part.targets.items()}
            if self._masks_change:
                state |= {f"{kind}/masks/{name}": value for name, value in part.masks.items()}
            for network, optimiser in self._optimisers.items():
                for name, parameter in select(part.parameters, network).items():
                    for moment, value in optimiser.state[parameter].items():
                        state[f"{kind}/adam/{moment}/{name}"] = value
        return state

    def restore(self, state: Parameters) -> None:
        """Copy a state of the same networks into this learner's own tensors."""
        for name, value in self.state().items():
            value.copy_(state[name])

"""K networks of one algorithm, moved one update at a time.

Losses come back as one value a row, [K]; the gradient of their sum is each row's own gradient.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from triptych.core.memory import OomRetry
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sparse import Pattern, SparseParameters, views_of
from triptych.rl.networks.stacked import (
    ADVICE,
    Batch,
    Noise,
    Parameters,
    apply_masks,
    network_of,
    select,
)


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


MOMENTS = ("exp_avg", "exp_avg_sq")


class Learner:
    """Parameters, targets and optimiser moments of K networks, moved one update at a time.

    Gradients are computed for all of them at once, or where a GPU's memory runs out for
    `portion.size` rows at a time. `masks` holds one boolean tensor [K, in, out] for each weight, or
    is empty for dense networks; masked weights and their moments stay exactly zero. `parameters`
    are copied. With `masks_change` the masks are part of `state`. With `sparse` the weights that
    masks cut are not there at all, nor is anything computed with them: for CPUs, and masks that
    stay.
    """

    def __init__(
        self,
        parameters: Parameters,
        masks: Parameters,
        algorithm: Algorithm,
        steps: StepSettings,
        masks_change: bool = False,
        sparse: bool = False,
    ) -> None:
        self._tau, self._losses = steps.tau, algorithm.losses()
        self._order, self._delayed = algorithm.update_order(), algorithm.delayed_networks()
        self.period = algorithm.period()
        self.portion = OomRetry(len(next(iter(parameters.values()))), "runs", ADVICE)
        self.networks: Sequence[str] = algorithm.learning
        self._masks_change = masks_change
        self.masks: Parameters = {}
        if sparse:
            self.parameters: Parameters = SparseParameters.pruned(parameters, masks)
        else:
            # As numbers: multiplying by booleans would convert them at every update.
            self.masks = {name: mask.to(parameters[name].dtype) for name, mask in masks.items()}
            # Fused Adam reads parameters and moments by memory order, and a clone keeps its
            # source's.
            self.parameters = {
                name: value.clone(memory_format=torch.contiguous_format)
                for name, value in apply_masks(parameters, masks).items()
            }
        self.targets: Parameters = {
            name: value.clone()
            for network in self.networks
            if network in algorithm.target_networks
            for name, value in select(self.parameters, network).items()
        }
        self._patterns: Mapping[str, Pattern] = {}
        if isinstance(self.parameters, SparseParameters):
            self._patterns = self.parameters.patterns
            self.targets = SparseParameters(self.targets, self._patterns)
        for value in self.parameters.values():
            value.requires_grad_()
        device = next(iter(parameters.values())).device
        # On a GPU a tensor, which a recorded update reads anew.
        rate: float | Tensor = steps.learning_rate
        if on_gpu := device.type == "cuda":
            rate = torch.tensor(rate, device=device)
        self.optimisers = {
            network: torch.optim.Adam(
                list(select(self.parameters, network).values()),
                lr=rate,
                fused=True,
                capturable=on_gpu,
            )
            for network in self.networks
        }
        # Adam would make its moments at the first step; made here, they have addresses that a
        # CUDA graph and `restore` can rely on.
        for optimiser in self.optimisers.values():
            for parameter in optimiser.param_groups[0]["params"]:
                optimiser.state[parameter] = {
                    "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }

    def set_rate(self, rate: float) -> None:
        """The learning rate of the updates that follow."""
        for optimiser in self.optimisers.values():
            (group,) = optimiser.param_groups
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def change_masks(self, row: int, masks: Parameters) -> None:
        """Give one row other masks, [1, in, out]: what is cut is forgotten, what comes is zero.

        The target networks go on averaging, so that what is cut fades from them.
        """
        for name, (mask,) in masks.items():
            parameter, optimiser = self.parameters[name], self.optimisers.get(network_of(name))
            moments = optimiser.state[parameter] if optimiser else {}
            self.masks[name][row] = mask.to(parameter.dtype)
            for values in (parameter.detach(), *(moments[m] for m in MOMENTS if m in moments)):
                values[row].masked_fill_(~mask, 0.0)

    def moved(self, network: str, updates: int) -> int:
        """Number of times that a network has moved in the first `updates` updates."""
        return updates // self.period if network in self._delayed else updates

    def update(self, batch: Batch, noise: Noise, number: int = 0) -> dict[str, Tensor]:
        """One update in the reference's order; the losses [K] of each network before its step.

        number: of the update, from 0; the remainder by `period` decides which networks move. The
        losses of one that stays are given as 0.
        """
        ends = (number + 1) % self.period == 0
        losses = {}
        for together in self._order:
            gradients = {}
            for network in together:
                if ends or network not in self._delayed:
                    losses[network], gradients[network] = self._descent(network, batch, noise)
                else:
                    losses[network] = torch.zeros_like(batch.rewards[:, 0])
            for network, gradient in gradients.items():
                self._step(network, gradient)
        if ends and self.targets:
            moving = list(self.targets.values())
            with torch.no_grad():
                torch._foreach_lerp_(moving, [self.parameters[n] for n in self.targets], self._tau)
        return losses

    def _descent(self, network: str, batch: Batch, noise: Noise) -> tuple[Tensor, Sequence[Tensor]]:
        """A network's losses [K], and their gradients by its parameters."""
        return self.portion.run(lambda size: self._gradients(network, batch, noise, size))

    def _step(self, network: str, gradients: Sequence[Tensor]) -> None:
        named = select(self.parameters, network)
        for (name, parameter), gradient in zip(named.items(), gradients, strict=True):
            # Fused Adam reads both by memory order; autograd.grad may return transposed views.
            gradient = gradient.contiguous()
            parameter.grad = gradient.mul_(self.masks[name]) if name in self.masks else gradient
        self.optimisers[network].step()

    def _gradients(
        self, network: str, batch: Batch, noise: Noise, size: int
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Losses and gradients of a network, found for `size` rows at a time."""
        parameters, count, loss = self.parameters, len(batch.rewards), self._losses[network]
        if size >= count or self._patterns:  # a CPU's memory doesn't run out of portions
            value = loss(parameters, self.targets, batch, noise)
            trained = list(select(parameters, network).values())
            return value.detach(), torch.autograd.grad(value.sum(), trained)
        values, gradients = [], []
        for first in range(0, count, size):
            part = slice(first, first + size)
            part_parameters = {
                name: value.detach()[part].requires_grad_(network_of(name) == network)
                for name, value in parameters.items()
            }
            targets = {name: value[part] for name, value in self.targets.items()}
            some = Batch(*(getattr(batch, field.name)[part] for field in fields(batch)))
            part_noise = {name: value[part] for name, value in noise.items()}
            value = loss(part_parameters, targets, some, part_noise)
            trained = list(select(part_parameters, network).values())
            gradients.append(torch.autograd.grad(value.sum(), trained))
            values.append(value.detach())
        return torch.cat(values), [torch.cat(parts) for parts in zip(*gradients, strict=True)]

    def state(self) -> Parameters:
        """Every tensor that the next update depends on, by name; not copies."""
        state = {f"parameters/{name}": value.detach() for name, value in self.parameters.items()}
        state |= {f"targets/{name}": value for name, value in self.targets.items()}
        for network, optimiser in self.optimisers.items():
            for name, parameter in select(self.parameters, network).items():
                for moment, value in optimiser.state[parameter].items():
                    state[f"adam/{moment}/{name}"] = value
        if self._masks_change:
            state |= {f"masks/{name}": value for name, value in self.masks.items()}
        return state

    def dense(self) -> Parameters:
        """The parameters as [K, in, out] and [K, 1, out], detached."""
        if isinstance(self.parameters, SparseParameters):
            return self.parameters.dense()
        return {name: value.detach() for name, value in self.parameters.items()}

    def finite(self) -> Tensor:
        """Whether all parameters of a row are finite, [K]."""
        rows = [
            torch.stack([part.isfinite().all() for part in self._rows(name, value)])
            for name, value in self.parameters.items()
        ]
        return torch.stack(rows).all(0)

    def clear(self, rows: Collection[int]) -> None:
        """Set all that these rows' next updates depend on to zero, but for their masks."""
        for name, value in self.state().items():
            if value.dim() and not name.startswith("masks/"):
                parts = self._rows(name.rpartition("/")[2], value)
                for k in rows:
                    parts[k].zero_()

    def _rows(self, name: str, value: Tensor) -> Sequence[Tensor]:
        """Views of each row's part of a parameter, or of a moment of it."""
        return views_of(self._patterns, name, value.detach())

    def restore(self, state: Parameters) -> None:
        """Copy a state of the same networks into this learner's own tensors."""
        for name, value in self.state().items():
            value.copy_(state[name])

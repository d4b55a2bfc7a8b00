"""K networks of one algorithm, moved one update at a time.

Losses come back as one value a row, [K]; the gradient of their sum is each row's own gradient.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.device import precision_context
from triptych.rl.methods import CRITERIA, DENSE
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sampling import DeviceData, Draws
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

    rows: their places in the stack, whose parameters and masks are given. masks: as numbers, empty
    where weights that masks cut aren't held at all.
    """

    def __init__(
        self,
        rows: list[int],
        parameters: Parameters,
        masks: Parameters,
        algorithm: Algorithm,
        steps: StepSettings,
        sparse: bool,
    ) -> None:
        self.rows, self._tau = rows, steps.tau
        self._losses, self._delayed = algorithm.losses(), algorithm.delayed_networks()
        own_masks = {name: mask[rows] for name, mask in masks.items()}
        own = {name: value[rows] for name, value in parameters.items()}
        self.masks: Parameters = {}
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
        networks = algorithm.update_order()
        self.targets: Parameters = {
            name: value.clone()
            for name, value in self.parameters.items()
            if network_of(name) in networks and network_of(name) in algorithm.target_networks
        }
        if isinstance(self.parameters, SparseParameters):
            self.targets = SparseParameters(self.targets, self.parameters.patterns)
        for value in self.parameters.values():
            value.requires_grad_()
        self.optimisers = {
            network: _adam(list(select(self.parameters, network).values()), steps.learning_rate)
            for network in networks
        }

    def update(self, batch: Batch, noise: Noise, ends: bool) -> dict[str, Tensor]:
        """`Learner.update` of these networks. ends: whether a period does."""
        losses = {}
        for network, optimiser in self.optimisers.items():
            losses[network] = torch.zeros_like(batch.rewards[:, 0])
            if ends or network not in self._delayed:
                losses[network] = self._descend(network, batch, noise)
                optimiser.step()
        if ends and self.targets:
            moving = [self.parameters[name] for name in self.targets]
            with torch.no_grad():
                torch._foreach_lerp_(list(self.targets.values()), moving, self._tau)
        return losses

    def _descend(self, network: str, batch: Batch, noise: Noise) -> Tensor:
        """Give a network's parameters their gradients; return its losses."""
        trained = select(self.parameters, network)
        loss = self._losses[network](self.parameters, self.targets, batch, noise)
        gradients = torch.autograd.grad(loss.sum(), list(trained.values()))
        for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
            # Fused Adam reads both by memory order; autograd.grad may return transposed views.
            gradient = gradient.contiguous()
            masked = name in self.masks
            parameter.grad = gradient.mul_(self.masks[name]) if masked else gradient
        return loss.detach()

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

    def state(self) -> Parameters:
        """Every tensor that the next update depends on, by name, masks too; not copies."""
        state = {f"parameters/{name}": value.detach() for name, value in self.parameters.items()}
        state |= {f"targets/{name}": value for name, value in self.targets.items()}
        state |= {f"masks/{name}": value for name, value in self.masks.items()}
        for network, optimiser in self.optimisers.items():
            for name, parameter in select(self.parameters, network).items():
                for moment, value in optimiser.state[parameter].items():
                    state[f"adam/{moment}/{name}"] = value
        return state


def _adam(parameters: list[Tensor], rate: float) -> torch.optim.Adam:
    """An optimiser whose moments and, on a GPU, learning rate are tensors that stay in place: a
    CUDA graph reads them anew, and `Learner.restore` fills them."""
    device = parameters[0].device
    on_gpu = device.type == "cuda"
    shared = torch.tensor(rate, device=device) if on_gpu else rate
    optimiser = torch.optim.Adam(parameters, lr=shared, fused=True, capturable=on_gpu)
    for parameter in parameters:  # Adam would make them at the first step
        optimiser.state[parameter] = {
            "step": torch.zeros((), dtype=torch.float32, device=device),
            **{moment: torch.zeros_like(parameter) for moment in MOMENTS},
        }
    return optimiser


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
        self.device, self.count = first.device, len(first)
        self.networks, self.period = algorithm.update_order(), algorithm.period()
        self._delayed, self._masks_change = algorithm.delayed_networks(), masks_change
        dense = [k for k in range(self.count) if k not in sparse]
        self._parts = {
            kind: _Part(rows, parameters, masks, algorithm, steps, sparse=kind == "sparse")
            for kind, rows in (("dense", dense), ("sparse", sorted(sparse)))
            if rows
        }

    def set_rate(self, rate: float) -> None:
        """The learning rate of the updates that follow."""
        for part in self._parts.values():
            for optimiser in part.optimisers.values():
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
        if len(self._parts) == 1:
            (part,) = self._parts.values()
            return part.update(batch, noise, ends)
        losses = {}
        for kind, part in self._parts.items():
            own = Batch(**{name: value[part.rows] for name, value in vars(batch).items()})
            own_noise = {name: value[part.rows] for name, value in noise.items()}
            losses[kind] = part.update(own, own_noise, ends)
        return self._whole(losses)

    @property
    def parameters(self) -> Parameters:
        """All networks' as [K, in, out] and [K, 1, out], detached, zero where no weight is kept."""
        return self._whole({kind: part.dense() for kind, part in self._parts.items()})

    def masks(self) -> Parameters:
        """The present masks of all, boolean [K, in, out] by weight name."""
        return self._whole({kind: part.present_masks() for kind, part in self._parts.items()})

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
            parameter, optimiser = part.parameters[name], part.optimisers.get(network_of(name))
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
        for part in self._parts.values():
            for key, value in part.state().items():
                content, *_, name = key.split("/")
                if value.dim() and content != "masks":
                    for k, view in zip(part.rows, part.views(name, value), strict=True):
                        if k in rows:
                            view.zero_()

    def state(self) -> Parameters:
        """Every tensor that the next update depends on, by name; not copies."""
        return {
            f"{kind}/{key}": value
            for kind, part in self._parts.items()
            for key, value in part.state().items()
            if self._masks_change or not key.startswith("masks/")
        }

    def restore(self, state: Parameters) -> None:
        """Copy a state of the same networks into this learner's own tensors."""
        for name, value in self.state().items():
            value.copy_(state[name])


def update_stepper(
    learner: Learner, data: DeviceData, draws: Draws, precision: str
) -> Callable[[int], Tensor]:
    """A function that performs update number u and returns the losses [networks, K]."""
    device = data.rewards.device

    def perform(index: Tensor, noise: Noise, update: int) -> Tensor:
        with precision_context(device, precision):
            losses = learner.update(data.batch(index), noise, update)
            return torch.stack(list(losses.values())).float()

    if device.type != "cuda":
        return lambda update: perform(*draws.at(update), update)

    # An update is some 300 small kernels: captured as a CUDA graph they cost one launch. The graph
    # reads its indices and noise from fixed tensors, which each step fills. Updates of one
    # remainder by the algorithm's period are one graph.
    index, noise = draws.at(0)
    index = index.clone()
    noise = {name: value.clone() for name, value in noise.items()}
    before = {name: value.clone() for name, value in learner.state().items()}
    warming = torch.cuda.Stream()
    warming.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warming):
        for number in range(3 * learner.period):
            perform(index, noise, number)
    torch.cuda.current_stream().wait_stream(warming)
    graphs = []
    for number in range(learner.period):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            graphs.append((graph, perform(index, noise, number)))
    learner.restore(before)

    def replay(update: int) -> Tensor:
        drawn_index, drawn_noise = draws.at(update)
        index.copy_(drawn_index)
        for name, value in drawn_noise.items():
            noise[name].copy_(value)
        graph, losses = graphs[update % learner.period]
        graph.replay()
        return losses

    return replay

"""BCQ (Fujimoto et al. 2019) and the BC that it contains, for K networks at once.

The losses follow sfujim/BCQ (continuous_BCQ/BCQ.py) line by line. BC is what
aviralkumar2907/BEAR trains under that name: the same VAE, acting by its decoder alone. The
VAE's gradients depend on neither actor nor critic, so a BCQ run already contains a BC run.

Losses come back as one value a row, [K]; the gradient of their sum is each row's own gradient.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import torch
from torch import Tensor

from triptych.core.portion import Portion
from triptych.rl.networks import (
    BCQ_LATENT_CLIP,
    MAX_ACTION,
    Parameters,
    decode,
    encode,
    network_of,
    perturb,
    q_values,
    select,
)


@dataclass(frozen=True)
class BcqSettings:
    """What BCQ's losses depend on; the reference's values stand behind each."""

    discount: float  # 0.99
    phi: float  # 0.05, reach of the perturbation
    lmbda: float  # 0.75, weight of the smaller of the twin targets
    target_samples: int  # 10 sampled actions in the critic's target

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "BcqSettings":
        """Settings as config writes them; `lambda` is a word of Python's."""
        return cls(**{"lmbda" if name == "lambda" else name: each for name, each in table.items()})


@dataclass(frozen=True)
class StepSettings:
    """How the networks move at an update; the reference's values stand behind each."""

    batch: int  # 100
    learning_rate: float  # 1e-3, Adam, all three networks
    tau: float  # 0.005, share of the way that the target networks go
    schedule: str = "constant"  # or cosine: the rate goes down to 0 over the whole training

    def rate(self, update: int, updates: int) -> float:
        """The learning rate of update number `update` (from 0) of so many."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (1 + math.cos(math.pi * update / updates)) / 2


@dataclass(frozen=True)
class Batch:
    """Transitions for K rows: [K, B, .] states and actions, [K, B] rewards and not_done."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    next_observations: Tensor
    not_done: Tensor


@dataclass(frozen=True)
class Noise:
    """Every random number of one update, drawn beforehand so that the update is a function.

    `encoder` and `actor` are standard normal [K, B, 2A]; `target` is [K, B * samples, 2A].
    """

    encoder: Tensor
    target: Tensor
    actor: Tensor


Loss = Callable[[Parameters, Parameters, Batch, Noise], Tensor]
"""Losses [K] by parameters, target networks, batch and noise."""

MOMENTS = ("exp_avg", "exp_avg_sq")
ADVICE = "Lower rl.stack, so that fewer runs are trained in one job, or set device: cpu."


def vae_loss(parameters: Parameters, batch: Batch, noise: Tensor) -> Tensor:
    """Reconstruction error plus half the KL divergence, both means as in the reference: [K]."""
    mean, std = encode(parameters, batch.observations, batch.actions)
    recon = decode(parameters, batch.observations, mean + std * noise, MAX_ACTION)
    error = (recon - batch.actions).square().mean((1, 2))
    divergence = -0.5 * (1 + 2 * std.log() - mean.square() - std.square()).mean((1, 2))
    return error + 0.5 * divergence


def critic_target(
    parameters: Parameters,
    targets: Parameters,
    batch: Batch,
    noise: Tensor,
    settings: BcqSettings,
) -> Tensor:
    """The value that both critics regress on: the best of several sampled next actions, [K, B].

    y = r + discount * not_done * max_i (lambda min_j Q'_j + (1 - lambda) max_j Q'_j)(s', a_i)
    """
    samples = settings.target_samples
    states = batch.next_observations.repeat_interleave(samples, 1)
    latent = noise.clamp(-BCQ_LATENT_CLIP, BCQ_LATENT_CLIP)
    actions = decode(parameters, states, latent, MAX_ACTION)
    actions = perturb(targets, states, actions, settings.phi, MAX_ACTION)
    q1, q2 = q_values(targets, states, actions, 1), q_values(targets, states, actions, 2)
    mixed = settings.lmbda * torch.minimum(q1, q2) + (1 - settings.lmbda) * torch.maximum(q1, q2)
    best = mixed.unflatten(1, (-1, samples)).amax(2)
    return batch.rewards + settings.discount * batch.not_done * best


def critic_loss(parameters: Parameters, batch: Batch, target: Tensor) -> Tensor:
    """Mean squared error of Q1 plus that of Q2: [K]."""
    q1 = q_values(parameters, batch.observations, batch.actions, 1)
    q2 = q_values(parameters, batch.observations, batch.actions, 2)
    return (q1 - target).square().mean(1) + (q2 - target).square().mean(1)


def actor_loss(
    parameters: Parameters, batch: Batch, noise: Tensor, settings: BcqSettings
) -> Tensor:
    """-Q1 at the perturbed sampled action: [K].

    The reference lets this gradient run into the decoder too and then throws it away; leaving
    it out changes nothing and saves 7% of an update's arithmetic.
    """
    with torch.no_grad():
        latent = noise.clamp(-BCQ_LATENT_CLIP, BCQ_LATENT_CLIP)
        sampled = decode(parameters, batch.observations, latent, MAX_ACTION)
    actions = perturb(parameters, batch.observations, sampled, settings.phi, MAX_ACTION)
    return -q_values(parameters, batch.observations, actions, 1).mean(1)


def apply_masks(parameters: Parameters, masks: Parameters) -> Parameters:
    """Parameters whose masked-out weights are 0.0 (multiplying would leave -0.0 among them)."""
    return {
        name: value.masked_fill(~masks[name], 0.0) if name in masks else value
        for name, value in parameters.items()
    }


class Learner:
    """Parameters, targets and optimiser moments of K networks, moved one update at a time.

    Gradients are computed for all of them at once, or where a GPU's memory runs out for
    `portion.size` rows at a time; a row's own don't depend on it.

    `masks` holds one boolean tensor [K, in, out] for each weight, or is empty for dense networks.
    The masked weights are set to zero once; their gradients are masked at every update, so Adam's
    moments, and with them the weights, stay exactly zero. `parameters` may lie in memory in any
    order, and are copied. With `masks_change` the masks are part of `state`.
    """

    def __init__(
        self,
        parameters: Parameters,
        masks: Parameters,
        settings: BcqSettings,
        steps: StepSettings,
        only_vae: bool,
        masks_change: bool = False,
    ) -> None:
        self.settings, self._tau = settings, steps.tau
        self.portion = Portion(len(next(iter(parameters.values()))), "runs", ADVICE)
        self.networks: Sequence[str] = ("vae",) if only_vae else ("vae", "critic", "actor")
        # As numbers: multiplying by booleans would convert them at every update.
        self.masks = {name: mask.to(parameters[name].dtype) for name, mask in masks.items()}
        self._masks_change = masks_change
        # Fused Adam reads parameters and moments by memory order, and a clone keeps its source's.
        self.parameters = {
            name: value.clone(memory_format=torch.contiguous_format).requires_grad_()
            for name, value in apply_masks(parameters, masks).items()
        }
        self.targets = {
            name: value.detach().clone()
            for network in self.networks
            if network != "vae"
            for name, value in select(self.parameters, network).items()
        }
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

    def update(self, batch: Batch, noise: Noise) -> dict[str, Tensor]:
        """One update in the reference's order; the losses [K] of each network before its step."""
        losses = {"vae": self._descend("vae", _vae_loss, batch, noise)}
        if "critic" in self.networks:
            losses["critic"] = self._descend("critic", self._critic_loss, batch, noise)
            losses["actor"] = self._descend("actor", self._actor_loss, batch, noise)
            moving = list(self.targets.values())
            with torch.no_grad():
                torch._foreach_lerp_(moving, [self.parameters[n] for n in self.targets], self._tau)
        return losses

    def _critic_loss(
        self, parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise
    ) -> Tensor:
        with torch.no_grad():
            target = critic_target(parameters, targets, batch, noise.target, self.settings)
        return critic_loss(parameters, batch, target)

    def _actor_loss(
        self, parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise
    ) -> Tensor:
        return actor_loss(parameters, batch, noise.actor, self.settings)

    def _descend(self, network: str, loss: Loss, batch: Batch, noise: Noise) -> Tensor:
        named = select(self.parameters, network)
        value, gradients = self.portion.run(
            lambda size: self._gradients(network, loss, batch, noise, size)
        )
        for (name, parameter), gradient in zip(named.items(), gradients, strict=True):
            # Fused Adam reads both by memory order; autograd.grad may return transposed views.
            gradient = gradient.contiguous()
            parameter.grad = gradient.mul_(self.masks[name]) if name in self.masks else gradient
        self.optimisers[network].step()
        return value

    def _gradients(
        self, network: str, loss: Loss, batch: Batch, noise: Noise, size: int
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """Losses [K], and their gradients by a network's parameters, `size` rows at a time."""
        parameters, count = self.parameters, len(batch.rewards)
        if size >= count:
            value = loss(parameters, self.targets, batch, noise)
            wanted = list(select(parameters, network).values())
            return value.detach(), torch.autograd.grad(value.sum(), wanted)
        values, gradients = [], []
        for first in range(0, count, size):
            part = slice(first, first + size)
            own = {
                name: each.detach()[part].requires_grad_(network_of(name) == network)
                for name, each in parameters.items()
            }
            targets = {name: each[part] for name, each in self.targets.items()}
            value = loss(own, targets, _rows(batch, part), _rows(noise, part))
            wanted = list(select(own, network).values())
            gradients.append(torch.autograd.grad(value.sum(), wanted))
            values.append(value.detach())
        return torch.cat(values), [torch.cat(each) for each in zip(*gradients, strict=True)]

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

    def restore(self, state: Parameters) -> None:
        """Copy a state of the same networks into this learner's own tensors."""
        for name, value in self.state().items():
            value.copy_(state[name])


def _vae_loss(parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise) -> Tensor:
    return vae_loss(parameters, batch, noise.encoder)


RowsOf = TypeVar("RowsOf", Batch, Noise)


def _rows(whole: RowsOf, part: slice) -> RowsOf:
    """Some rows of a batch or its noise."""
    return type(whole)(*(getattr(whole, field.name)[part] for field in fields(whole)))

"""Networks, K copies of each at once.

Every weight is a tensor [K, in, out] and every bias [K, 1, out]. Layers are named as in the
reference implementation (sfujim/BCQ, continuous_BCQ/BCQ.py):

    actor    l1 l2 l3                  BCQ's perturbation of a sampled action, others' action
    critic   l1 l2 l3 (Q1) l4 l5 l6 (Q2)
    vae      e1 e2 mean log_std (encoder)   d1 d2 d3 (decoder)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from triptych.rl.networks.sparse import SparseParameters

Parameters = dict[str, Tensor]
"""Tensors by name: "actor.l1.weight" [K, in, out], "actor.l1.bias" [K, 1, out], ...; in
`SparseParameters` weights are the values that are kept."""

MAX_ACTION = 1.0
"""Bound of every action component; other bounds are scaled to it (tasks/environments.py)."""


def network_of(name: str) -> str:
    """The network ("actor", "critic", ...) that a parameter or layer belongs to."""
    return name.split(".", 1)[0]


def select(parameters: Parameters, network: str) -> Parameters:
    """The parameters of one network, under their full names."""
    return {name: value for name, value in parameters.items() if network_of(name) == network}


def initialise(shapes: Mapping[str, tuple[int, int]], seeds: Sequence[int]) -> Parameters:
    """Fresh float32 parameters on the CPU, row k drawn from `seeds[k]` alone.

    shapes: (inputs, outputs) of each layer by name, in the order of the draws. Weights and biases
    are uniform in +-1/sqrt(inputs), which is nn.Linear's default. A row is the same whichever rows
    stand beside it.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters: Parameters = {}
    for layer, (inputs, outputs) in shapes.items():
        bound = inputs**-0.5
        for kind, shape in (("weight", (inputs, outputs)), ("bias", (1, outputs))):
            rows = [torch.rand(shape, generator=generator) for generator in generators]
            parameters[f"{layer}.{kind}"] = torch.stack(rows).mul_(2 * bound).sub_(bound)
    return parameters


def linear(parameters: Parameters, layer: str, x: Tensor) -> Tensor:
    """Affine map of x [K, B, in] by each row's own weights: [K, B, out]."""
    if isinstance(parameters, SparseParameters):
        return parameters.linear(layer, x)
    return torch.baddbmm(parameters[f"{layer}.bias"], x, parameters[f"{layer}.weight"])


def perturb(parameters: Parameters, observations: Tensor, actions: Tensor, phi: float) -> Tensor:
    """BCQ's actor: actions [K, B, A] moved by at most phi * MAX_ACTION, clamped to the range."""
    x = torch.cat((observations, actions), -1)
    x = linear(parameters, "actor.l1", x).relu_()
    x = linear(parameters, "actor.l2", x).relu_()
    shift = phi * MAX_ACTION * linear(parameters, "actor.l3", x).tanh()
    return (actions + shift).clamp(-MAX_ACTION, MAX_ACTION)


def q_values(
    parameters: Parameters, observations: Tensor, actions: Tensor, twin: int = 1
) -> Tensor:
    """Q1 (twin=1) or Q2 (twin=2) of state-action pairs: [K, B]."""
    first, second, third = ("l1", "l2", "l3") if twin == 1 else ("l4", "l5", "l6")
    x = torch.cat((observations, actions), -1)
    x = linear(parameters, f"critic.{first}", x).relu_()
    x = linear(parameters, f"critic.{second}", x).relu_()
    return linear(parameters, f"critic.{third}", x).squeeze(-1)


def encode(parameters: Parameters, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the latent given (s, a): two tensors [K, B, 2A]."""
    x = torch.cat((observations, actions), -1)
    x = linear(parameters, "vae.e1", x).relu_()
    x = linear(parameters, "vae.e2", x).relu_()
    mean = linear(parameters, "vae.mean", x)
    return mean, linear(parameters, "vae.log_std", x).clamp(-4, 15).exp()


def decode(parameters: Parameters, observations: Tensor, latent: Tensor) -> Tensor:
    """Actions [K, B, A] that the VAE's decoder gives for states and latents [K, B, 2A]."""
    x = torch.cat((observations, latent), -1)
    x = linear(parameters, "vae.d1", x).relu_()
    x = linear(parameters, "vae.d2", x).relu_()
    return MAX_ACTION * linear(parameters, "vae.d3", x).tanh()


def act_by_actor(
    parameters: Parameters, observations: Tensor, latent: Tensor | None = None
) -> Tensor:
    """The actions [K, B, A] of an actor that sees states and nothing else."""
    x = linear(parameters, "actor.l1", observations).relu_()
    x = linear(parameters, "actor.l2", x).relu_()
    return MAX_ACTION * linear(parameters, "actor.l3", x).tanh()


Act = Callable[[Parameters, Tensor, Tensor], Tensor]
"""Actions [K, E, A] by parameters, observations [K, E, S] and latents [K, E, draws, 2A]."""


@dataclass(frozen=True)
class Acting:
    """An act, and the number of standard normal latents that it needs, clamped to +-clip."""

    act: Act
    draws: int = 0
    clip: float = 1.0


@dataclass(frozen=True)
class Batch:
    """Transitions for K rows: [K, B, .] states and actions, [K, B] rewards and not_done."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    next_observations: Tensor
    not_done: Tensor


Noise = dict[str, Tensor]
"""Every random number of one update: standard normal [K, B * draws, size] by the names that the
algorithm's losses know (`Algorithm.noise`)."""

Loss = Callable[[Parameters, Parameters, Batch, Noise], Tensor]
"""Losses [K] by parameters, target networks, batch and noise."""


def apply_masks(parameters: Parameters, masks: Parameters) -> Parameters:
    """Parameters whose masked-out weights are 0.0 (multiplying would leave -0.0 among them)."""
    return {
        name: value.masked_fill(~masks[name], 0.0) if name in masks else value
        for name, value in parameters.items()
    }


def torch_layout(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One row's arrays ([in, out] and [1, out]) as nn.Linear keeps them ([out, in] and [out])."""
    return {
        name: np.ascontiguousarray(array.T) if name.endswith(".weight") else array.reshape(-1)
        for name, array in arrays.items()
    }

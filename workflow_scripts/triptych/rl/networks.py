"""Networks, K copies of each at once; which ones an algorithm has, its `registry` says.

Every weight is a tensor [K, in, out] and every bias [K, 1, out], so that one batched matrix
product serves K networks that differ in seed, mask or both; K = 1 is the ordinary network.
Layers bear the names of the reference implementation (sfujim/BCQ, continuous_BCQ/BCQ.py):

    actor    l1 l2 l3                  BCQ's perturbation of a sampled action, others' action
    critic   l1 l2 l3 (Q1) l4 l5 l6 (Q2)
    vae      e1 e2 mean log_std (encoder)   d1 d2 d3 (decoder)
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

from triptych.core.files import atomic_path
from triptych.rl.algorithms.registry import Algorithm, Bcq, Widths, layer_shapes
from triptych.rl.observations import SCALE, SHIFT, Scaling, folded

Parameters = dict[str, Tensor]
"""Tensors by name: "actor.l1.weight" [K, in, out], "actor.l1.bias" [K, 1, out], ..."""

MAX_ACTION = 1.0
"""Bound of every action component; other bounds are scaled to it (rl/environments.py)."""
BCQ_LATENT_CLIP, BC_LATENT_CLIP = 0.5, 0.25
"""Latents are standard normal, clamped to these: sfujim/BCQ's decode, BEAR's decode_bc_test."""

PAPER_WIDTHS = Widths(actor=(400, 300), critic=(400, 300), vae=750)
"""The widths of sfujim/BCQ, whose file sizes are those of the paper's Table 1."""


def network_of(name: str) -> str:
    """The network ("actor", "critic", ...) that a parameter or layer belongs to."""
    return name.split(".", 1)[0]


def select(parameters: Parameters, network: str) -> Parameters:
    """The parameters of one network, under their full names."""
    return {name: value for name, value in parameters.items() if network_of(name) == network}


def initialise(
    widths: Widths,
    observation_size: int,
    action_size: int,
    seeds: Sequence[int],
    algorithm: type[Algorithm] = Bcq,
) -> Parameters:
    """Fresh float32 parameters on the CPU, row k drawn from `seeds[k]` alone.

    Weights and biases are uniform in +-1/sqrt(inputs), which is nn.Linear's default; parameters of
    no layer are zero. A row is the same whichever rows stand beside it.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters: Parameters = {}
    shapes = layer_shapes(widths, observation_size, action_size, algorithm)
    for layer, (inputs, outputs) in shapes.items():
        bound = inputs**-0.5
        for kind, shape in (("weight", (inputs, outputs)), ("bias", (1, outputs))):
            rows = [torch.rand(shape, generator=generator) for generator in generators]
            parameters[f"{layer}.{kind}"] = torch.stack(rows).mul_(2 * bound).sub_(bound)
    for name in algorithm.free:
        parameters[name] = torch.zeros(len(seeds), 1, action_size)
    return parameters


def linear(parameters: Parameters, layer: str, x: Tensor) -> Tensor:
    """Affine map of x [K, B, in] by each row's own weights: [K, B, out]."""
    return torch.baddbmm(parameters[f"{layer}.bias"], x, parameters[f"{layer}.weight"])


def perturb(
    parameters: Parameters, observations: Tensor, actions: Tensor, phi: float, max_action: float
) -> Tensor:
    """BCQ's actor: actions [K, B, A] moved by at most phi * max_action, clamped to the range."""
    x = torch.cat((observations, actions), -1)
    x = linear(parameters, "actor.l1", x).relu_()
    x = linear(parameters, "actor.l2", x).relu_()
    shift = phi * max_action * linear(parameters, "actor.l3", x).tanh()
    return (actions + shift).clamp(-max_action, max_action)


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


def decode(
    parameters: Parameters, observations: Tensor, latent: Tensor, max_action: float
) -> Tensor:
    """Actions [K, B, A] that the VAE's decoder gives for states and latents [K, B, 2A]."""
    x = torch.cat((observations, latent), -1)
    x = linear(parameters, "vae.d1", x).relu_()
    x = linear(parameters, "vae.d2", x).relu_()
    return max_action * linear(parameters, "vae.d3", x).tanh()


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
    """How a policy acts: of so many standard normal latents, which are clamped to +-clip."""

    act: Act
    draws: int = 0
    clip: float = 1.0


@dataclass(frozen=True)
class Policies:
    """What a training job leaves behind: K networks, what each row is, and how they act.

    Where networks see other observations than raw ones, `arrays` hold how (`Scaling`).
    """

    arrays: dict[str, np.ndarray]
    rows: list[dict[str, Any]]
    settings: dict[str, Any]

    def row(self, k: int) -> dict[str, np.ndarray]:
        """Row k in torch's own layout, for raw observations: weights [out, in], biases [out]."""
        own = {name: torch.from_numpy(array[k : k + 1]) for name, array in self.arrays.items()}
        if SHIFT in own:
            own = folded(own, Scaling(own.pop(SHIFT), own.pop(SCALE)))
        return torch_layout({name: value[0].numpy() for name, value in own.items()})


def torch_layout(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One row's arrays ([in, out] and [1, out]) as nn.Linear keeps them ([out, in] and [out])."""
    return {
        name: np.ascontiguousarray(array.T) if name.endswith(".weight") else array.reshape(-1)
        for name, array in arrays.items()
    }


def write_policies(path: str | os.PathLike[str], policies: Policies) -> None:
    """Write K networks with their rows and settings as one safetensors file."""
    # One entry only: safetensors writes several in no fixed order.
    about = {"rows": policies.rows, "settings": policies.settings}
    metadata = {"policies": json.dumps(about, sort_keys=True)}
    with atomic_path(path) as temporary:
        save_file(
            {name: np.ascontiguousarray(array) for name, array in policies.arrays.items()},
            temporary,
            metadata=metadata,
        )


def read_policies(path: str | os.PathLike[str]) -> Policies:
    """Read what `write_policies` wrote.

    Raises ValueError for a safetensors file that holds no rows and settings.
    """
    with safe_open(Path(path), framework="numpy") as stored:
        metadata = stored.metadata() or {}
        if "policies" not in metadata:
            raise ValueError(
                f"{path}: expected a policies file of the rule rl_train, with 'policies' in its "
                f"metadata; found {', '.join(sorted(metadata)) or 'no metadata'}"
            )
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    try:
        about = json.loads(metadata["policies"])
        rows, settings = [dict(row) for row in about["rows"]], dict(about["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path}: its rows and settings cannot be understood ({error!r}); expected a policies "
            "file of the rule rl_train"
        ) from error
    wrong = [name for name, array in arrays.items() if array.shape[:1] != (len(rows),)]
    if wrong:
        raise ValueError(
            f"{path}: {wrong[0]} has shape {arrays[wrong[0]].shape}; expected {len(rows)} "
            "networks, one a row"
        )
    return Policies(arrays, rows, settings)

"""BCQ (Fujimoto et al. 2019), after sfujim/BCQ (continuous_BCQ/BCQ.py) line by line."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from triptych.rl.networks.algorithm import TWIN_CRITICS, Algorithm, Chain
from triptych.rl.networks.sparse import COLUMNS, SparseParameters
from triptych.rl.networks.stacked import (
    Acting,
    Batch,
    Loss,
    Noise,
    Parameters,
    decode,
    encode,
    perturb,
    q_values,
)

NAME = "BCQ"
CONTAINS = ("BC",)
PLACE = 1
COLOUR = "#0072b2"

BCQ_LATENT_CLIP, BC_LATENT_CLIP = 0.5, 0.25
"""Latents are standard normal, clamped to these: sfujim/BCQ's decode, BEAR's decode_bc_test."""
CACHED = 500
"""Candidates of a policy whose layers a processor's caches hold."""


@dataclass(frozen=True)
class Bcq(Algorithm):
    """BCQ; sfujim/BCQ's values are in the comments."""

    discount: float  # 0.99
    phi: float  # 0.05, reach of the perturbation
    lmbda: float = field(metadata={"key": "lambda"})  # 0.75, weight of the smaller twin target
    target_samples: int  # 10 sampled actions in the critic's target

    name = NAME
    chains = (
        Chain("actor", ("l1", "l2", "l3"), inputs=("observation", "action"), output="action"),
        *TWIN_CRITICS,
        Chain(
            "vae",
            ("e1", "e2", "mean", "log_std"),
            inputs=("observation", "action"),
            output="latent",
            group="encoder",
        ),
        Chain(
            "vae",
            ("d1", "d2", "d3"),
            inputs=("observation", "latent"),
            output="action",
            group="decoder",
        ),
    )
    target_networks: ClassVar[tuple[str, ...]] = ("actor", "critic")
    noise_size = "latent"
    acting_groups: ClassVar[tuple[str, ...]] = ("decoder", "actor", "critic")

    def losses(self) -> dict[str, Loss]:
        return {
            "actor": partial(actor_loss, settings=self),
            "critic": partial(twin_loss, settings=self),
            "vae": vae_loss,
        }

    def acting(self, candidates: int) -> Acting:
        """Take the best of `candidates` sampled actions."""
        return Acting(partial(act_bcq, phi=self.phi), candidates, BCQ_LATENT_CLIP)

    def update_order(self) -> tuple[str, ...]:
        """The VAE moves first, as in the reference; actor and critic then sample from it."""
        return ("vae", "critic", "actor")

    def noise(self) -> dict[str, int]:
        return {"encoder": 1, "actor": 1, "target": self.target_samples}

    def policy_metadata(self, candidates: int) -> dict[str, Any]:
        """Reach of the perturbation, number of candidates, and clips of BC's and BCQ's latents."""
        return {
            "candidates": candidates,
            "phi": self.phi,
            "latent_clip_bc": BC_LATENT_CLIP,
            "latent_clip_bcq": BCQ_LATENT_CLIP,
        }


ALGORITHM = Bcq


def vae_loss(parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise) -> Tensor:
    """Reconstruction error plus half the KL divergence, both means as in the reference: [K]."""
    mean, std = encode(parameters, batch.observations, batch.actions)
    recon = decode(parameters, batch.observations, mean + std * noise["encoder"])
    error = (recon - batch.actions).square().mean((1, 2))
    divergence = -0.5 * (1 + 2 * std.log() - mean.square() - std.square()).mean((1, 2))
    return error + 0.5 * divergence


def twin_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Bcq
) -> Tensor:
    with torch.no_grad():
        target = critic_target(parameters, targets, batch, noise["target"], settings)
    return critic_loss(parameters, batch, target)


def critic_target(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Tensor, settings: Bcq
) -> Tensor:
    """The value that both critics regress on: the best of several sampled next actions, [K, B].

    y = r + discount * not_done * max_i (lambda min_j Q'_j + (1 - lambda) max_j Q'_j)(s', a_i)
    """
    samples = settings.target_samples
    together = len(noise[0])
    if isinstance(parameters, SparseParameters):
        together = max(1, COLUMNS // samples) * samples
    parts = zip(
        batch.next_observations.split(together // samples, 1),
        noise.clamp(-BCQ_LATENT_CLIP, BCQ_LATENT_CLIP).split(together, 1),
        strict=True,
    )
    best = torch.cat([_best_value(parameters, targets, *part, settings) for part in parts], 1)
    return batch.rewards + settings.discount * batch.not_done * best


def _best_value(
    parameters: Parameters, targets: Parameters, states: Tensor, latent: Tensor, settings: Bcq
) -> Tensor:
    """The largest mixed value of the actions sampled for each of some states [K, B, S]: [K, B]."""
    samples = settings.target_samples
    states = states.repeat_interleave(samples, 1)
    actions = decode(parameters, states, latent)
    actions = perturb(targets, states, actions, settings.phi)
    q1, q2 = q_values(targets, states, actions, 1), q_values(targets, states, actions, 2)
    mixed = settings.lmbda * torch.minimum(q1, q2) + (1 - settings.lmbda) * torch.maximum(q1, q2)
    return mixed.unflatten(1, (-1, samples)).amax(2)


def critic_loss(parameters: Parameters, batch: Batch, target: Tensor) -> Tensor:
    """Mean squared error of Q1 plus that of Q2: [K]."""
    q1 = q_values(parameters, batch.observations, batch.actions, 1)
    q2 = q_values(parameters, batch.observations, batch.actions, 2)
    return (q1 - target).square().mean(1) + (q2 - target).square().mean(1)


def actor_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Bcq
) -> Tensor:
    """-Q1 at the perturbed sampled action: [K].

    The reference lets this gradient run into the decoder too and then throws it away.
    """
    with torch.no_grad():
        latent = noise["actor"].clamp(-BCQ_LATENT_CLIP, BCQ_LATENT_CLIP)
        sampled = decode(parameters, batch.observations, latent)
    actions = perturb(parameters, batch.observations, sampled, settings.phi)
    return -q_values(parameters, batch.observations, actions, 1).mean(1)


def act_bcq(parameters: Parameters, observations: Tensor, latent: Tensor, phi: float) -> Tensor:
    """The one of several decoded and perturbed actions that Q1 prefers.

    `observations` [K, E, S] and clamped `latent` [K, E, candidates, 2A] give actions [K, E, A].
    """
    episodes, candidates = latent.shape[1:3]
    together = max(1, CACHED // candidates) if latent.device.type == "cpu" else episodes
    parts = zip(observations.split(together, 1), latent.split(together, 1), strict=True)
    return torch.cat([_best_action(parameters, *part, phi) for part in parts], 1)


def _best_action(
    parameters: Parameters, observations: Tensor, latent: Tensor, phi: float
) -> Tensor:
    rows, episodes, candidates = latent.shape[:3]
    states = observations.repeat_interleave(candidates, 1)
    actions = decode(parameters, states, latent.flatten(1, 2))
    actions = perturb(parameters, states, actions, phi)
    values = q_values(parameters, states, actions).reshape(rows, episodes, candidates)
    best = values.argmax(2)[..., None, None].expand(-1, -1, 1, actions.shape[-1])
    return actions.reshape(rows, episodes, candidates, -1).gather(2, best).squeeze(2)

"""The losses of BCQ (Fujimoto et al. 2019) and of the BC that it contains, and how both act.

The losses follow sfujim/BCQ (continuous_BCQ/BCQ.py) line by line. BC is aviralkumar2907/BEAR's: the
same VAE, acting by its decoder alone, so that a BCQ run already contains a BC run.
"""

from functools import partial

import torch
from torch import Tensor

from triptych.rl.algorithms.networks import (
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
from triptych.rl.algorithms.registry import BC_LATENT_CLIP, BCQ_LATENT_CLIP, Bcq
from triptych.rl.algorithms.sparse import COLUMNS, SparseParameters


def vae_loss(parameters: Parameters, batch: Batch, noise: Tensor) -> Tensor:
    """Reconstruction error plus half the KL divergence, both means as in the reference: [K]."""
    mean, std = encode(parameters, batch.observations, batch.actions)
    recon = decode(parameters, batch.observations, mean + std * noise)
    error = (recon - batch.actions).square().mean((1, 2))
    divergence = -0.5 * (1 + 2 * std.log() - mean.square() - std.square()).mean((1, 2))
    return error + 0.5 * divergence


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


def actor_loss(parameters: Parameters, batch: Batch, noise: Tensor, settings: Bcq) -> Tensor:
    """-Q1 at the perturbed sampled action: [K].

    The reference lets this gradient run into the decoder too and then throws it away.
    """
    with torch.no_grad():
        latent = noise.clamp(-BCQ_LATENT_CLIP, BCQ_LATENT_CLIP)
        sampled = decode(parameters, batch.observations, latent)
    actions = perturb(parameters, batch.observations, sampled, settings.phi)
    return -q_values(parameters, batch.observations, actions, 1).mean(1)


def losses(settings: Bcq) -> dict[str, Loss]:
    """The losses of actor, critic and VAE, as functions of what an update has."""

    def vae(parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise) -> Tensor:
        return vae_loss(parameters, batch, noise["encoder"])

    def critic(parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise) -> Tensor:
        with torch.no_grad():
            target = critic_target(parameters, targets, batch, noise["target"], settings)
        return critic_loss(parameters, batch, target)

    def actor(parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise) -> Tensor:
        return actor_loss(parameters, batch, noise["actor"], settings)

    return {"actor": actor, "critic": critic, "vae": vae}


CACHED = 500
"""Candidates of a policy whose layers a processor's caches hold."""


def act_bcq(parameters: Parameters, observations: Tensor, latent: Tensor, phi: float) -> Tensor:
    """BCQ's act: of several decoded and perturbed actions, the one that Q1 prefers.

    `observations` [K, E, S] and clamped `latent` [K, E, candidates, 2A] give actions [K, E, A].
    """
    episodes, candidates = latent.shape[1:3]
    together = max(1, CACHED // candidates) if latent.device.type == "cpu" else episodes
    parts = zip(observations.split(together, 1), latent.split(together, 1), strict=True)
    return torch.cat([_best(parameters, *part, phi) for part in parts], 1)


def _best(parameters: Parameters, observations: Tensor, latent: Tensor, phi: float) -> Tensor:
    rows, episodes, candidates = latent.shape[:3]
    states = observations.repeat_interleave(candidates, 1)
    actions = decode(parameters, states, latent.flatten(1, 2))
    actions = perturb(parameters, states, actions, phi)
    values = q_values(parameters, states, actions).reshape(rows, episodes, candidates)
    best = values.argmax(2)[..., None, None].expand(-1, -1, 1, actions.shape[-1])
    return actions.reshape(rows, episodes, candidates, -1).gather(2, best).squeeze(2)


def act_bc(parameters: Parameters, observations: Tensor, latent: Tensor) -> Tensor:
    """BC's act: `observations` [K, E, S] and latents [K, E, 1, 2A] decoded to [K, E, A]."""
    return decode(parameters, observations, latent.squeeze(2))


def acting(settings: Bcq, candidates: int) -> Acting:
    """How BCQ acts: by the best of so many sampled actions."""
    return Acting(partial(act_bcq, phi=settings.phi), candidates, BCQ_LATENT_CLIP)


def acting_bc(settings: Bcq, candidates: int) -> Acting:
    """How BC acts: by one decoded latent."""
    return Acting(act_bc, 1, BC_LATENT_CLIP)

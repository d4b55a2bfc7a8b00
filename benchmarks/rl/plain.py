"""BCQ one network at a time, in the manner of the reference implementation.

Restates the update of sfujim/BCQ (continuous_BCQ/BCQ.py) with ordinary modules, one backward pass a
network and Python loops over the target parameters. It is the baseline of the bench and the
oracle of the stacked code's tests; nothing is trained with it.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.stacked import Batch, Noise, Parameters
from triptych.rl.training.learner import StepSettings


class Actor(nn.Module):
    """Perturbation network."""

    def __init__(self, observation: int, action: int, widths: Widths, phi: float) -> None:
        super().__init__()
        self.l1 = nn.Linear(observation + action, widths.actor[0])
        self.l2 = nn.Linear(widths.actor[0], widths.actor[1])
        self.l3 = nn.Linear(widths.actor[1], action)
        self.phi = phi

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        """The perturbed action [B, A] of states [B, S] and proposed actions [B, A]."""
        a = F.relu(self.l1(torch.cat([state, action], 1)))
        a = F.relu(self.l2(a))
        return (action + self.phi * torch.tanh(self.l3(a))).clamp(-1, 1)


class Critic(nn.Module):
    """Twin value functions in one module."""

    def __init__(self, observation: int, action: int, widths: Widths) -> None:
        super().__init__()
        self.l1 = nn.Linear(observation + action, widths.critic[0])
        self.l2 = nn.Linear(widths.critic[0], widths.critic[1])
        self.l3 = nn.Linear(widths.critic[1], 1)
        self.l4 = nn.Linear(observation + action, widths.critic[0])
        self.l5 = nn.Linear(widths.critic[0], widths.critic[1])
        self.l6 = nn.Linear(widths.critic[1], 1)

    def q1(self, state: Tensor, action: Tensor) -> Tensor:
        """The first value [B, 1] of states [B, S] and actions [B, A]."""
        q = F.relu(self.l1(torch.cat([state, action], 1)))
        q = F.relu(self.l2(q))
        return self.l3(q)

    def forward(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Both values [B, 1]."""
        q = F.relu(self.l4(torch.cat([state, action], 1)))
        q = F.relu(self.l5(q))
        return self.q1(state, action), self.l6(q)


class VAE(nn.Module):
    """Model of the behaviour policy."""

    def __init__(self, observation: int, action: int, widths: Widths) -> None:
        super().__init__()
        latent, width = 2 * action, widths.vae
        self.e1 = nn.Linear(observation + action, width)
        self.e2 = nn.Linear(width, width)
        self.mean = nn.Linear(width, latent)
        self.log_std = nn.Linear(width, latent)
        self.d1 = nn.Linear(observation + latent, width)
        self.d2 = nn.Linear(width, width)
        self.d3 = nn.Linear(width, action)

    def forward(self, state: Tensor, action: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
        """The reconstructed action [B, A], and the latent's mean and deviation [B, 2A].

        noise: [B, 2A], standard normal. The deviation lies between exp(-4) and exp(15).
        """
        z = F.relu(self.e1(torch.cat([state, action], 1)))
        z = F.relu(self.e2(z))
        mean = self.mean(z)
        std = torch.exp(self.log_std(z).clamp(-4, 15))
        return self.decode(state, mean + std * noise), mean, std

    def decode(self, state: Tensor, z: Tensor) -> Tensor:
        """Actions [B, A] of states [B, S] and latents [B, 2A]."""
        a = F.relu(self.d1(torch.cat([state, z], 1)))
        a = F.relu(self.d2(a))
        return torch.tanh(self.d3(a))


class PlainBCQ:
    """One BCQ agent with the reference's update; maximal action 1."""

    def __init__(
        self, observation: int, action: int, widths: Widths, settings: Bcq, steps: StepSettings
    ) -> None:
        self.settings, self.tau = settings, steps.tau
        self.actor = Actor(observation, action, widths, settings.phi)
        self.critic = Critic(observation, action, widths)
        self.vae = VAE(observation, action, widths)
        self.actor_target, self.critic_target = (
            copy.deepcopy(self.actor),
            copy.deepcopy(self.critic),
        )
        self._optimisers = [
            torch.optim.Adam(module.parameters(), lr=steps.learning_rate)
            for module in (self.actor, self.critic, self.vae)
        ]

    def to(self, device: torch.device) -> "PlainBCQ":
        """Move all networks; to be called before the first update."""
        for module in (self.actor, self.critic, self.vae, self.actor_target, self.critic_target):
            module.to(device)
        return self

    def load(self, parameters: Parameters, k: int) -> None:
        """Take row k of stacked parameters, for the targets too."""
        for network in ("actor", "critic", "vae"):
            module: nn.Module = getattr(self, network).to(next(iter(parameters.values())).dtype)
            for name, value in module.named_parameters():
                row = parameters[f"{network}.{name}"][k].detach()
                value.data.copy_(row.T if name.endswith("weight") else row.reshape(-1))
        self.actor_target.to(row.dtype).load_state_dict(self.actor.state_dict())
        self.critic_target.to(row.dtype).load_state_dict(self.critic.state_dict())

    def update(self, batch: Batch, noise: Noise) -> None:
        """One update; the batch and noise of a single row, without the leading dimension."""
        settings, samples = self.settings, self.settings.target_samples
        actor_optimiser, critic_optimiser, vae_optimiser = self._optimisers
        state, action = batch.observations, batch.actions

        recon, mean, std = self.vae(state, action, noise["encoder"])
        divergence = -0.5 * (1 + torch.log(std.pow(2)) - mean.pow(2) - std.pow(2)).mean()
        vae_loss = F.mse_loss(recon, action) + 0.5 * divergence
        vae_optimiser.zero_grad()
        vae_loss.backward()
        vae_optimiser.step()

        with torch.no_grad():
            following = torch.repeat_interleave(batch.next_observations, samples, 0)
            sampled = self.vae.decode(following, noise["target"].clamp(-0.5, 0.5))
            q1, q2 = self.critic_target(following, self.actor_target(following, sampled))
            target = settings.lmbda * torch.min(q1, q2)
            target = target + (1.0 - settings.lmbda) * torch.max(q1, q2)
            target = target.reshape(len(state), -1).max(1)[0].reshape(-1, 1)
            target = batch.rewards[:, None] + batch.not_done[:, None] * settings.discount * target
        q1, q2 = self.critic(state, action)
        critic_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        critic_optimiser.zero_grad()
        critic_loss.backward()
        critic_optimiser.step()

        sampled = self.vae.decode(state, noise["actor"].clamp(-0.5, 0.5))
        actor_loss = -self.critic.q1(state, self.actor(state, sampled)).mean()
        actor_optimiser.zero_grad()
        actor_loss.backward()
        actor_optimiser.step()

        for module, moving in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
            for value, slow in zip(module.parameters(), moving.parameters(), strict=True):
                slow.data.copy_(self.tau * value.data + (1 - self.tau) * slow.data)

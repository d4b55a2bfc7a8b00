"""TD3+BC (Fujimoto and Gu 2021), after sfujim/TD3_BC (TD3_BC.py, `train`).

CORL's losses (algorithms/offline/td3_bc.py) are the same; it keeps the two critics as two modules.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from triptych.rl.networks.algorithm import ACTOR, TWIN_CRITICS, Algorithm
from triptych.rl.networks.stacked import (
    MAX_ACTION,
    Batch,
    Loss,
    Noise,
    Parameters,
    act_by_actor,
    q_values,
)

NAME = "TD3+BC"
PLACE = 3
COLOUR = "#009e73"


@dataclass(frozen=True)
class Td3Bc(Algorithm):
    """TD3+BC; sfujim/TD3_BC's values are in the comments."""

    discount: float  # 0.99
    policy_noise: float  # 0.2, deviation of the noise on the target's action
    noise_clip: float  # 0.5
    policy_freq: int  # 2 updates of the critic for one of actor and targets
    alpha: float  # 2.5, weight of the value against the data's actions

    name = NAME
    chains = (ACTOR, *TWIN_CRITICS)
    target_networks = ("actor", "critic")

    def losses(self) -> dict[str, Loss]:
        return {
            "critic": partial(critic_loss, settings=self),
            "actor": partial(actor_loss, settings=self),
        }

    def update_order(self) -> tuple[str, ...]:
        return ("critic", "actor")

    def period(self) -> int:
        """Critic updates per update of actor and targets."""
        return self.policy_freq

    def delayed_networks(self) -> tuple[str, ...]:
        """The actor moves with the targets."""
        return ("actor",)

    def noise(self) -> dict[str, int]:
        return {"target": 1}


ALGORITHM = Td3Bc


def critic_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Td3Bc
) -> Tensor:
    """Mean squared error of Q1 plus that of Q2, [K], to the smaller of the target critics at the
    target actor's next action, which is moved by clipped noise."""
    with torch.no_grad():
        moved = settings.policy_noise * noise["target"]
        moved = moved.clamp(-settings.noise_clip, settings.noise_clip)
        following = act_by_actor(targets, batch.next_observations) + moved
        following = following.clamp(-MAX_ACTION, MAX_ACTION)
        states = batch.next_observations
        least = torch.minimum(*(q_values(targets, states, following, twin) for twin in (1, 2)))
        target = batch.rewards + settings.discount * batch.not_done * least
    q1, q2 = (q_values(parameters, batch.observations, batch.actions, twin) for twin in (1, 2))
    return (q1 - target).square().mean(1) + (q2 - target).square().mean(1)


def actor_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Td3Bc
) -> Tensor:
    """-lambda Q1 at the actor's action plus its squared distance from the data's, [K].

    lambda = alpha / mean |Q1|, of each row's own batch, is a number to the gradient.
    """
    actions = act_by_actor(parameters, batch.observations)
    q = q_values(parameters, batch.observations, actions)
    scale = settings.alpha / q.detach().abs().mean(1)
    return (actions - batch.actions).square().mean((1, 2)) - scale * q.mean(1)

"""IQL (Kostrikov et al. 2022), after its authors' learner.py, critic.py, actor.py and policy.py.

CORL's (algorithms/offline/iql.py) takes all gradients before any network moves, halves the critic's
loss and lets a deviation be smaller.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from triptych.rl.networks.algorithm import ACTOR, TWIN_CRITICS, Algorithm, Chain
from triptych.rl.networks.stacked import Batch, Loss, Noise, Parameters, act_by_actor, linear

NAME = "IQL"
PLACE = 4
COLOUR = "#aa4499"

LARGEST_WEIGHT = 100.0
"""Largest weight of a transition in the actor's loss."""
LOG_STD = (-5.0, 2.0)
"""Bounds of the logarithm of the policy's deviation."""


@dataclass(frozen=True)
class Iql(Algorithm):
    """IQL; its authors' values (configs/mujoco_config.py) are in the comments."""

    discount: float  # 0.99
    expectile: float  # 0.7
    temperature: float  # 3.0, of the advantages' exponential

    name = NAME
    chains = (
        ACTOR,
        *TWIN_CRITICS,
        Chain("value", ("l1", "l2", "l3"), inputs=("observation",), output="value", width="critic"),
    )
    extra_parameters = ("actor.log_std",)
    target_networks = ("critic",)

    def losses(self) -> dict[str, Loss]:
        return {
            "value": partial(value_loss, settings=self),
            "critic": partial(critic_loss, settings=self),
            "actor": partial(actor_loss, settings=self),
        }

    def update_order(self) -> tuple[str, ...]:
        """The value network moves first; both others take it as it then is."""
        return ("value", "actor", "critic")


ALGORITHM = Iql


def _three(parameters: Parameters, layers: tuple[str, str, str], *inputs: Tensor) -> Tensor:
    """A value [K, B]. Advantages are small differences of values, so the last product is done in
    the parameters' own precision whatever the others are done in."""
    first, second, third = layers
    x = linear(parameters, first, torch.cat(inputs, -1)).relu_()
    x = linear(parameters, second, x).relu_()
    with torch.autocast(x.device.type, enabled=False):
        return linear(parameters, third, x.to(parameters[f"{third}.weight"].dtype)).squeeze(-1)


def state_values(parameters: Parameters, observations: Tensor) -> Tensor:
    """V of states: [K, B]."""
    return _three(parameters, ("value.l1", "value.l2", "value.l3"), observations)


def twin_values(
    parameters: Parameters, observations: Tensor, actions: Tensor
) -> tuple[Tensor, Tensor]:
    """Q1 and Q2 of state-action pairs: two tensors [K, B]."""
    return (
        _three(parameters, ("critic.l1", "critic.l2", "critic.l3"), observations, actions),
        _three(parameters, ("critic.l4", "critic.l5", "critic.l6"), observations, actions),
    )


def _advantages(parameters: Parameters, targets: Parameters, batch: Batch) -> Tensor:
    """min Q' - V of the data's actions, [K, B]; the target critics are never learnt through."""
    with torch.no_grad():
        least = torch.minimum(*twin_values(targets, batch.observations, batch.actions))
    return least - state_values(parameters, batch.observations)


def value_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Iql
) -> Tensor:
    """Expectile regression of V on the smaller of the target critics: [K]."""
    over = _advantages(parameters, targets, batch)
    below = (over < 0).to(over.dtype)
    return ((settings.expectile - below).abs() * over.square()).mean(1)


def critic_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Iql
) -> Tensor:
    """Mean squared error of Q1 plus that of Q2 to r + discount V(s'): [K]."""
    with torch.no_grad():
        following = state_values(parameters, batch.next_observations)
        target = batch.rewards + settings.discount * batch.not_done * following
    q1, q2 = twin_values(parameters, batch.observations, batch.actions)
    return (q1 - target).square().mean(1) + (q2 - target).square().mean(1)


def actor_loss(
    parameters: Parameters, targets: Parameters, batch: Batch, noise: Noise, settings: Iql
) -> Tensor:
    """-log pi of the data's actions, weighted by exp(temperature advantage), at most 100: [K].

    The policy is normal about tanh of the network; its deviation is the same in every state.
    """
    with torch.no_grad():
        advantages = _advantages(parameters, targets, batch)
        weights = (settings.temperature * advantages).exp().clamp(max=LARGEST_WEIGHT)
    log_std = parameters["actor.log_std"].clamp(*LOG_STD)
    mean = act_by_actor(parameters, batch.observations)
    policy = torch.distributions.Normal(mean, log_std.exp(), validate_args=False)
    return -(weights * policy.log_prob(batch.actions).sum(-1)).mean(1)

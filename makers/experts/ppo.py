"""Proximal policy optimisation (Schulman et al. 2017), to make the experts that data come from.

The environments run in lock-step; policy and value are two small networks. Constants are those
common for MuJoCo's locomotion tasks (Huang et al. 2022, "The 37 implementation details of PPO"):
standardised observations, rewards scaled by the deviation of the discounted return, orthogonal
initialisation, advantages standardised in each minibatch, a learning rate that falls linearly.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from makers.experts.measuring import Learner, folded, write_expert, write_record
from triptych.core.device import keyed_generator
from triptych.core.training_loop import DivergedError, all_finite
from triptych.demo.collection import Expert, PathLike
from triptych.rl.tasks.locomotion import Array

ENVIRONMENTS, HORIZON = 32, 128  # steps of an iteration: their product
EPOCHS, MINIBATCH = 10, 256
LEARNING_RATE, CLIP, GRADIENT_NORM, VALUE_WEIGHT = 3e-4, 0.2, 0.5, 0.5
DISCOUNT, GAE_LAMBDA = 0.99, 0.95
HIDDEN, INITIAL_DEVIATION = 64, 0.6
EVALUATE_EVERY = 20  # iterations
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Settings:
    """What config says of one expert's training."""

    seed: int
    steps: int  # of all environments together


class Moments:
    """Running mean and variance, by Chan et al.'s parallel update."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.variance = 1e-4, np.zeros(size), np.ones(size)

    def update(self, samples: Array) -> None:
        """Take in samples [n, size]."""
        count, total = len(samples), self.count + len(samples)
        difference = samples.mean(axis=0) - self.mean
        within = self.variance * self.count + samples.var(axis=0) * count
        self.variance = (within + np.square(difference) * self.count * count / total) / total
        self.mean = self.mean + difference * count / total
        self.count = total

    @property
    def scale(self) -> Array:
        """Standard deviation, never zero."""
        return np.sqrt(self.variance + 1e-8)


def advantages(rewards: Tensor, values: Tensor, ended: Tensor, last: Tensor) -> Tensor:
    """Generalised advantage estimates (Schulman et al. 2016, Eq. 16), [T, E].

    `rewards`, `values` and `ended` are [T, E]; `last` [E] values the state after the last step.
    """
    result, running = torch.zeros_like(rewards), torch.zeros_like(last)
    following = last
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ended[t]
        delta = rewards[t] + DISCOUNT * goes_on * following - values[t]
        running = delta + DISCOUNT * GAE_LAMBDA * goes_on * running
        result[t], following = running, values[t]
    return result


def clipped_surrogate(ratio: Tensor, advantage: Tensor) -> Tensor:
    """PPO's loss (Schulman et al. 2017, Eq. 7, sign turned), a mean over the minibatch."""
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    return -torch.minimum(ratio * advantage, clipped * advantage).mean()


def _network(
    inputs: int, outputs: int, last_gain: float, generator: torch.Generator
) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n, m, gain in (
        (inputs, HIDDEN, 2**0.5),
        (HIDDEN, HIDDEN, 2**0.5),
        (HIDDEN, outputs, last_gain),
    ):
        linear = nn.Linear(n, m)
        nn.init.orthogonal_(linear.weight, gain, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Trainer(Learner):
    """All that an iteration starts from: networks, optimiser, moments, running episodes."""

    def __init__(self, task: str, settings: Settings) -> None:
        super().__init__(task, settings.seed, ENVIRONMENTS)
        self.settings = settings
        self.iteration = 0
        observation, action = self.simulation.observation_size, self.simulation.action_size
        generator = keyed_generator(CPU, "ppo initialisation", settings.seed)
        self.policy = _network(observation, action, 0.01, generator)
        self.value = _network(observation, 1, 1.0, generator)
        self.log_deviation = nn.Parameter(torch.full((action,), float(np.log(INITIAL_DEVIATION))))
        self.trained = [*self.policy.parameters(), *self.value.parameters(), self.log_deviation]
        self.optimiser = torch.optim.Adam(self.trained, lr=LEARNING_RATE, eps=1e-5)
        self.observed, self.returned = Moments(observation), Moments(1)
        self.discounted = np.zeros(ENVIRONMENTS)
        self.lengths = np.zeros(ENVIRONMENTS, dtype=np.int64)
        self.observations = self.simulation.reset(self.next_seeds(ENVIRONMENTS))

    @property
    def iterations(self) -> int:
        """Iterations of a whole training."""
        return -(-self.settings.steps // (ENVIRONMENTS * HORIZON))

    def iterate(self) -> None:
        """Record HORIZON steps of every environment, then improve on them."""
        generator = keyed_generator(CPU, "ppo", self.settings.seed, self.iteration)
        for group in self.optimiser.param_groups:
            group["lr"] = LEARNING_RATE * max(0.05, 1 - self.iteration / self.iterations)
        recorded = [self._step(generator) for _ in range(HORIZON)]
        states, actions, densities, values, rewards, ended = map(
            torch.stack, zip(*recorded, strict=True)
        )
        with torch.no_grad():
            last = self.value(self._standardised(self.observations)).squeeze(-1)
        advantage = advantages(rewards, values, ended, last)
        self._improve(
            states.flatten(0, 1),
            actions.flatten(0, 1),
            densities.flatten(),
            advantage.flatten(),
            (advantage + values).flatten(),
            generator,
        )
        self.iteration += 1

    def _step(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Act once everywhere: state, action, log density, value, reward, ended."""
        self.observed.update(self.observations)
        state = self._standardised(self.observations)
        with torch.no_grad():
            mean = self.policy(state)
            noise = torch.randn(mean.shape, generator=generator)
            action = mean + self.log_deviation.exp() * noise
            density = self._log_density(mean, action)
            value = self.value(state).squeeze(-1)
        following, rewards, terminals = self.simulation.step(action.clamp(-1, 1).double().numpy())
        self.lengths += 1
        self.discounted = self.discounted * DISCOUNT + rewards
        self.returned.update(self.discounted[:, None])
        scaled = torch.as_tensor(rewards / self.returned.scale).float()
        cut = (self.lengths >= self.simulation.horizon) & ~terminals
        if cut.any():
            # The episode would have gone on: what its last state is worth belongs to the reward.
            with torch.no_grad():
                worth = self.value(self._standardised(following)).squeeze(-1)
            scaled += DISCOUNT * worth * torch.as_tensor(cut)
        ended = terminals | cut
        if ended.any():
            over = np.flatnonzero(ended)
            following = self.simulation.restart(over, self.next_seeds(len(over)))
            self.lengths[over], self.discounted[over] = 0, 0.0
        self.observations = following
        return state, action, density, value, scaled, torch.as_tensor(ended).float()

    def _improve(
        self,
        states: Tensor,
        actions: Tensor,
        densities: Tensor,
        advantage: Tensor,
        targets: Tensor,
        generator: torch.Generator,
    ) -> None:
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(states), generator=generator).split(MINIBATCH):
                density = self._log_density(self.policy(states[chosen]), actions[chosen])
                each = advantage[chosen]
                loss = clipped_surrogate(
                    (density - densities[chosen]).exp(), (each - each.mean()) / (each.std() + 1e-8)
                )
                error = (self.value(states[chosen]).squeeze(-1) - targets[chosen]).square().mean()
                self.optimiser.zero_grad()
                (loss + VALUE_WEIGHT * error).backward()
                nn.utils.clip_grad_norm_(self.trained, GRADIENT_NORM)
                self.optimiser.step()

    def _log_density(self, mean: Tensor, action: Tensor) -> Tensor:
        normal = torch.distributions.Normal(mean, self.log_deviation.exp(), validate_args=False)
        return normal.log_prob(action).sum(-1)

    def _standardised(self, observations: Array) -> Tensor:
        return torch.as_tensor((observations - self.observed.mean) / self.observed.scale).float()

    def expert(self) -> Expert:
        """The policy's mean as it stands, the standardisation folded into its first layer."""
        return folded(self.policy, self.observed.mean, self.observed.scale)


def train_expert(
    task: str, settings: Settings, policy_path: PathLike, record_path: PathLike
) -> None:
    """Train, keep the policy of the best evaluation, measure it on fresh episodes, write both.

    Raises DivergedError when weights are not finite.
    """
    trainer = Trainer(task, settings)
    for _ in range(trainer.iterations):
        trainer.iterate()
        if not all_finite(trainer.trained):
            raise DivergedError("weights are not finite: choose another seed (makers/config.yaml)")
        if trainer.iteration % EVALUATE_EVERY == 0 or trainer.iteration == trainer.iterations:
            trainer.evaluate(trainer.iteration)
    training = {
        "algorithm": "PPO (Schulman et al. 2017), the policy's mean, clipped to [-1, 1]",
        "seed": settings.seed,
        "environment_steps": trainer.iterations * ENVIRONMENTS * HORIZON,
        "hidden": [HIDDEN, HIDDEN],
    }
    write_expert(policy_path, trainer.kept)
    write_record(record_path, task, trainer.kept, training)

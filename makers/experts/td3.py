"""Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018), for an expert that PPO
does not reach.

The environments run in lock-step, so that one update learns from several new transitions, and
explore with noise of different strength (as in Horgan et al. 2018). Constants are the authors', but
for a higher learning rate and smaller networks. The policy's mean is clipped, not squashed, as
experts are: outside [-1, 1] a squared penalty leads it back.
"""

import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from makers.experts.measuring import Learner, folded, write_expert, write_record
from triptych.core.device import keyed_generator
from triptych.core.training_loop import DivergedError, all_finite
from triptych.demo.collection import Expert, PathLike
from triptych.rl.tasks.locomotion import Array

ENVIRONMENTS, HIDDEN, BATCH, REMEMBERED = 8, 128, 256, 1_000_000
RANDOM_STEPS = 10_000  # of all environments together, before the first update
CRITIC_RATE, ACTOR_RATE = 1e-3, 3e-4
DISCOUNT, TAU, POLICY_EVERY = 0.99, 0.005, 2
TARGET_NOISE, TARGET_CLIP = 0.2, 0.5
WEAKEST_NOISE, STRONGEST_NOISE = 0.05, 0.4  # standard deviations, spread over the environments
EVALUATE_EVERY = 5000  # updates
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Settings:
    """What config says of one expert's training."""

    seed: int
    updates: int  # one for each step of all environments


class Transitions(NamedTuple):
    """A batch: observations [B, S], actions [B, A], rewards [B], the observations that followed
    [B, S], and 1 where the episode ended by a fall [B]."""

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    following: Tensor
    ended: Tensor


class Memory:
    """The latest transitions, by environment and step."""

    def __init__(self, steps: int, environments: int, observation: int, action: int) -> None:
        shape = (steps, environments)
        self.observations = np.zeros((*shape, observation), np.float32)
        self.following = np.zeros((*shape, observation), np.float32)
        self.actions = np.zeros((*shape, action), np.float32)
        self.rewards, self.ended = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.added = 0

    def add(
        self, observations: Array, actions: Array, rewards: Array, following: Array, ended: Array
    ) -> None:
        """Remember one step of every environment, in place of the oldest if memory is full."""
        place = self.added % len(self.rewards)
        self.observations[place], self.following[place] = observations, following
        self.actions[place], self.rewards[place], self.ended[place] = actions, rewards, ended
        self.added += 1

    def sample(self, count: int, random: np.random.Generator) -> Transitions:
        """Transitions chosen at random, some perhaps twice."""
        step = random.integers(0, min(self.added, len(self.rewards)), count)
        chosen = step, random.integers(0, self.rewards.shape[1], count)
        arrays = (self.observations, self.actions, self.rewards, self.following, self.ended)
        return Transitions(*(torch.from_numpy(array[chosen]) for array in arrays))


def _network(
    inputs: int, outputs: int, activation: type[nn.Module], generator: torch.Generator
) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n, m in ((inputs, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, outputs)):
        linear = nn.Linear(n, m)
        nn.init.kaiming_uniform_(linear.weight, 5**0.5, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, activation()]
    return nn.Sequential(*layers[:-1])


class Trainer(Learner):
    """Networks, their targets, optimisers, memory and running episodes."""

    def __init__(self, task: str, settings: Settings) -> None:
        super().__init__(task, settings.seed, ENVIRONMENTS)
        self.settings = settings
        observation, action = self.simulation.observation_size, self.simulation.action_size
        generator = keyed_generator(CPU, "td3 initialisation", settings.seed)
        self.policy = _network(observation, action, nn.Tanh, generator)
        both = observation + action
        self.critics = nn.ModuleList(_network(both, 1, nn.ReLU, generator) for _ in range(2))
        self.target_policy = copy.deepcopy(self.policy)
        self.target_critics = copy.deepcopy(self.critics)
        self.policy_optimiser = torch.optim.Adam(
            self.policy.parameters(), lr=ACTOR_RATE, fused=True
        )
        self.critic_optimiser = torch.optim.Adam(
            self.critics.parameters(), lr=CRITIC_RATE, fused=True
        )
        self.generator = keyed_generator(CPU, "td3", settings.seed)
        self.random = np.random.default_rng(settings.seed)
        self.noise = np.linspace(WEAKEST_NOISE, STRONGEST_NOISE, ENVIRONMENTS)[:, None]
        self.memory = Memory(REMEMBERED // ENVIRONMENTS, ENVIRONMENTS, observation, action)
        self.mean, self.scale = np.zeros(observation), np.ones(observation)
        self.updates = 0
        self.observations = self.simulation.reset(self.next_seeds(ENVIRONMENTS))
        # The first episodes are cut at different steps, so that not all start anew at once.
        self.lengths = np.arange(ENVIRONMENTS) * (self.simulation.horizon // ENVIRONMENTS)

    @property
    def trained(self) -> list[nn.Parameter]:
        """Parameters of policy and critics."""
        return [*self.policy.parameters(), *self.critics.parameters()]

    def explore(self) -> None:
        """Act at random until RANDOM_STEPS are remembered, and standardise observations by them."""
        while self.memory.added * ENVIRONMENTS < RANDOM_STEPS:
            actions = self.random.uniform(-1, 1, (ENVIRONMENTS, self.simulation.action_size))
            self._step(actions)
        seen = self.memory.observations[: self.memory.added].astype(np.float64)
        self.mean, self.scale = seen.mean((0, 1)), seen.std((0, 1)) + 1e-4

    def iterate(self) -> None:
        """Act once everywhere with noise, then learn from a batch of what is remembered."""
        with torch.no_grad():
            means = self.policy(self._standardised(self.observations)).clamp(-1, 1)
        noise = self.noise * self.random.standard_normal(means.shape)
        self._step(np.clip(means.double().numpy() + noise, -1, 1))
        self.improve(self.memory.sample(BATCH, self.random))

    def improve(self, batch: Transitions) -> None:
        """One update."""
        states = self._standardised(batch.observations)
        self._improve_critics(states, batch)
        self.updates += 1
        if self.updates % POLICY_EVERY == 0:
            self._improve_policy(states)
            with torch.no_grad():
                pairs = (self.target_policy, self.policy), (self.target_critics, self.critics)
                for target, network in pairs:
                    for old, new in zip(target.parameters(), network.parameters(), strict=True):
                        old.lerp_(new, 2 * TAU)

    def _step(self, actions: Array) -> None:
        """Act once everywhere, remember it, and start anew the episodes that are over."""
        before = self.observations
        following, rewards, terminals = self.simulation.step(actions)
        # A time limit is no end: the episode would have gone on.
        self.memory.add(before, actions, rewards, following, terminals.astype(float))
        self.lengths += 1
        over = np.flatnonzero(terminals | (self.lengths >= self.simulation.horizon))
        if len(over):
            following = self.simulation.restart(over, self.next_seeds(len(over)))
            self.lengths[over] = 0
        self.observations = following

    def _improve_critics(self, states: Tensor, batch: Transitions) -> None:
        noise = TARGET_NOISE * torch.randn(batch.actions.shape, generator=self.generator)
        with torch.no_grad():
            following = self._standardised(batch.following)
            aimed = self.target_policy(following).clamp(-1, 1)
            aimed = (aimed + noise.clamp(-TARGET_CLIP, TARGET_CLIP)).clamp(-1, 1)
            joined = torch.cat([following, aimed], 1)
            worth = torch.minimum(*(critic(joined) for critic in self.target_critics)).squeeze(1)
            targets = batch.rewards + DISCOUNT * (1 - batch.ended) * worth
        joined = torch.cat([states, batch.actions], 1)
        errors = [functional.mse_loss(q(joined).squeeze(1), targets) for q in self.critics]
        self.critic_optimiser.zero_grad()
        torch.stack(errors).sum().backward()
        self.critic_optimiser.step()

    def _improve_policy(self, states: Tensor) -> None:
        means = self.policy(states)
        worth = self.critics[0](torch.cat([states, means.clamp(-1, 1)], 1))
        outside = (means.abs() - 1).clamp(min=0).square().sum(1).mean()
        # As in TD3+BC the value is divided by its size, so that it and the penalty compare.
        loss = outside - worth.mean() / worth.detach().abs().mean().clamp(min=1)
        self.policy_optimiser.zero_grad()
        loss.backward()
        self.policy_optimiser.step()

    def _standardised(self, observations: Array | Tensor) -> Tensor:
        values = torch.as_tensor(observations).double()
        return ((values - torch.from_numpy(self.mean)) / torch.from_numpy(self.scale)).float()

    def expert(self) -> Expert:
        """The policy as it stands."""
        return folded(self.policy, self.mean, self.scale)


def train_expert(
    task: str, settings: Settings, policy_path: PathLike, record_path: PathLike
) -> None:
    """Train, keep the policy of the best evaluation, measure it on fresh episodes, write both.

    Raises DivergedError when weights are not finite.
    """
    trainer = Trainer(task, settings)
    trainer.explore()
    while trainer.updates < settings.updates:
        trainer.iterate()
        if trainer.updates % EVALUATE_EVERY == 0 or trainer.updates == settings.updates:
            if not all_finite(trainer.trained):
                raise DivergedError("weights are not finite: choose another seed")
            trainer.evaluate(trainer.updates)
    training = {
        "algorithm": "TD3 (Fujimoto et al. 2018), the policy clipped to [-1, 1]",
        "seed": settings.seed,
        "environment_steps": trainer.memory.added * ENVIRONMENTS,
        "updates": trainer.updates,
        "hidden": [HIDDEN, HIDDEN],
    }
    write_expert(policy_path, trainer.kept)
    write_record(record_path, task, trainer.kept, training)

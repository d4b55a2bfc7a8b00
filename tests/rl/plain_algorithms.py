"""TD3+BC and IQL one network at a time, in ordinary modules with `torch.optim` and a backward pass
each: what the stacked updates are compared with.

Restated from CORL (algorithms/offline/td3_bc.py: `TD3_BC.train`) and from the algorithms' authors
(sfujim/TD3_BC: `TD3_BC.train`; ikostrikov/implicit_q_learning: `_update_jit` of learner.py with
critic.py's `update_v` and `update_q` and actor.py's `update`).
"""

import copy

import torch
from torch import Tensor, nn

TAU = 0.005


def three_layers(parameters: dict[str, Tensor], k: int, *layers: str) -> nn.Sequential:
    """An ordinary network with row k's weights of three stacked layers."""
    modules = []
    for layer in layers:
        weight, bias = parameters[f"{layer}.weight"][k], parameters[f"{layer}.bias"][k]
        linear = nn.Linear(*weight.shape, dtype=weight.dtype)
        linear.weight.data.copy_(weight.T)
        linear.bias.data.copy_(bias[0])
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


class Plain:
    """Networks by the layers that they are, slow copies of some, and an optimiser for each part."""

    def __init__(self, parameters: dict[str, Tensor], k: int, learning_rate: float) -> None:
        self.parameters, self.k, self.rate = parameters, k, learning_rate
        self.networks: dict[tuple[str, ...], nn.Module] = {}

    def network(self, name: str, numbers: str) -> nn.Sequential:
        """The network of layers such as actor.l1, actor.l2, actor.l3."""
        layers = tuple(f"{name}.l{number}" for number in numbers)
        self.networks[layers] = three_layers(self.parameters, self.k, *layers)
        return self.networks[layers]

    def adam(self, *parameters: Tensor) -> torch.optim.Adam:
        """An optimiser of its own."""
        return torch.optim.Adam(parameters, lr=self.rate)

    @staticmethod
    def descend(loss: Tensor, *optimisers: torch.optim.Optimizer) -> None:
        """A step against one loss's gradient."""
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()

    @staticmethod
    def follow(slow: nn.Module, fast: nn.Module) -> None:
        """A slow copy goes a little of the way."""
        for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
            old.data = (1 - TAU) * old.data + TAU * new.data


def beside(*inputs: Tensor) -> Tensor:
    return torch.cat(inputs, dim=1)


class PlainTd3Bc(Plain):
    """With CORL's two critics as networks apart, each with its optimiser."""

    def __init__(self, parameters, k, learning_rate, settings) -> None:
        super().__init__(parameters, k, learning_rate)
        self.settings, self.count = settings, 0
        self.actor = self.network("actor", "123")
        self.critics = self.network("critic", "123"), self.network("critic", "456")
        self.slow_actor = copy.deepcopy(self.actor)
        self.slow_critics = tuple(copy.deepcopy(each) for each in self.critics)
        self.of_actor = self.adam(*self.actor.parameters())
        self.of_critics = [self.adam(*each.parameters()) for each in self.critics]
        pairs = ((self.actor, self.slow_actor), *zip(self.critics, self.slow_critics, strict=True))
        self.targets = {
            layers: slow
            for layers, each in self.networks.items()
            for fast, slow in pairs
            if fast is each
        }

    def update(self, batch, noise) -> None:
        """The critics at every update, the actor and all slow copies at every second."""
        self.count += 1
        states, after, how = batch.observations, batch.next_observations, self.settings
        with torch.no_grad():
            shake = (noise["target"] * how.policy_noise).clamp(-how.noise_clip, how.noise_clip)
            acted = (torch.tanh(self.slow_actor(after)) + shake).clamp(-1, 1)
            least = torch.min(*(slow(beside(after, acted))[:, 0] for slow in self.slow_critics))
            goal = batch.rewards + batch.not_done * how.discount * least
        pairs = beside(states, batch.actions)
        misses = [nn.functional.mse_loss(each(pairs)[:, 0], goal) for each in self.critics]
        self.descend(misses[0] + misses[1], *self.of_critics)
        if self.count % how.policy_freq:
            return
        proposed = torch.tanh(self.actor(states))
        worth = self.critics[0](beside(states, proposed))
        weight = how.alpha / worth.abs().mean().item()
        cloned = nn.functional.mse_loss(proposed, batch.actions)
        self.descend(cloned - weight * worth.mean(), self.of_actor)
        for layers, slow in self.targets.items():
            self.follow(slow, self.networks[layers])


class PlainIql(Plain):
    """IQL as its authors' code has it."""

    def __init__(self, parameters, k, learning_rate, settings) -> None:
        super().__init__(parameters, k, learning_rate)
        self.settings = settings
        self.actor, self.value = self.network("actor", "123"), self.network("value", "123")
        self.critics = self.network("critic", "123"), self.network("critic", "456")
        self.slow = tuple(copy.deepcopy(each) for each in self.critics)
        self.targets = dict(zip(list(self.networks)[2:], self.slow, strict=True))
        self.log_std = nn.Parameter(parameters["actor.log_std"][k, 0].clone())
        self.of_actor = self.adam(*self.actor.parameters(), self.log_std)
        self.of_value = self.adam(*self.value.parameters())
        self.of_critics = self.adam(*(p for each in self.critics for p in each.parameters()))

    def update(self, batch, noise) -> None:
        """V moves first, and both others take it as it then is."""
        how, pairs = self.settings, beside(batch.observations, batch.actions)
        with torch.no_grad():
            least = torch.min(*(each(pairs)[:, 0] for each in self.slow))
        over = least - self.value(batch.observations)[:, 0]
        high = how.expectile
        loss = sum(u**2 * (high if u > 0 else 1 - high) for u in over) / len(over)
        self.descend(loss, self.of_value)
        with torch.no_grad():
            advantages = least - self.value(batch.observations)[:, 0]
            next_v = self.value(batch.next_observations)[:, 0]
        weights = torch.exp(how.temperature * advantages).clamp(max=100.0)
        mean = torch.tanh(self.actor(batch.observations))
        variance = torch.diag(self.log_std.clamp(-5, 2).exp() ** 2)
        likely = torch.distributions.MultivariateNormal(mean, variance)
        self.descend(-(weights * likely.log_prob(batch.actions)).mean(), self.of_actor)
        goal = batch.rewards + how.discount * batch.not_done * next_v
        misses = [((each(pairs)[:, 0] - goal) ** 2).mean() for each in self.critics]
        self.descend(misses[0] + misses[1], self.of_critics)
        for slow, fast in zip(self.slow, self.critics, strict=True):
            self.follow(slow, fast)

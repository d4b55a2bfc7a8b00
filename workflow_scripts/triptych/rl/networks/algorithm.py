"""The shape of an algorithm's file: its networks, losses, order of updates, and how it acts.

An algorithm is one file of triptych/rl/algorithms: plain constants that planning reads (NAME and
others, see triptych/rl/methods.py), and ALGORITHM, a class derived from `Algorithm`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import torch

from triptych.rl.methods import ALGORITHMS
from triptych.rl.networks.stacked import Acting, Loss, Parameters, act_by_actor, initialise


@dataclass(frozen=True)
class Widths:
    """Hidden units: two layers each in actor and critic, one width for all of the VAE's layers."""

    actor: tuple[int, int]
    critic: tuple[int, int]
    vae: int

    def hidden(self, name: str) -> tuple[int, int]:
        """Units of the two hidden layers of `actor`, `critic` or `vae`."""
        return {"actor": self.actor, "critic": self.critic, "vae": (self.vae, self.vae)}[name]


@dataclass(frozen=True)
class Chain:
    """Two hidden layers and the output layers behind them, all of which read the second's units.

    network: the first part of the layers' names. inputs: what the first layer reads, of
    observation, action and latent. output: action, latent or value. group: layers that are ranked
    together when pruned; width: of `Widths`; both are the network's name unless given.
    """

    network: str
    layers: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    group: str = ""
    width: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.network}.{layer}" for layer in self.layers)

    def shapes(self, widths: Widths, observation: int, action: int) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) of each layer by name. A latent is twice as long as an action."""
        sizes = {"observation": observation, "action": action, "latent": 2 * action, "value": 1}
        first, second = widths.hidden(self.width or self.network)
        read = sum(sizes[name] for name in self.inputs)
        hidden = [(read, first), (first, second)]
        outputs = [(second, sizes[self.output])] * (len(self.layers) - 2)
        return dict(zip(self.names, hidden + outputs, strict=True))


ACTOR = Chain("actor", ("l1", "l2", "l3"), inputs=("observation",), output="action")
TWIN_CRITICS = (
    Chain("critic", ("l1", "l2", "l3"), inputs=("observation", "action"), output="value"),
    Chain("critic", ("l4", "l5", "l6"), inputs=("observation", "action"), output="value"),
)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with its settings, which are the fields of the derived class.

    name: in configs, tables and figures. extra_parameters: parameters beside layers, one number for
    each component of an action, zero at first. target_networks: networks with a copy that follows
    slowly. noise_size: size of a normal draw, `latent` or `action`. acting_groups: groups of the
    chains that a stored policy needs, the first of them makes the action.
    """

    name: ClassVar[str]
    chains: ClassVar[tuple[Chain, ...]]
    extra_parameters: ClassVar[tuple[str, ...]] = ()
    target_networks: ClassVar[tuple[str, ...]] = ()
    noise_size: ClassVar[str] = "action"
    acting_groups: ClassVar[tuple[str, ...]] = ("actor",)

    @classmethod
    def layer_shapes(
        cls, widths: Widths, observation: int, action: int
    ) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) of each linear layer by name, in forward order."""
        shapes: dict[str, tuple[int, int]] = {}
        for chain in cls.chains:
            shapes |= chain.shapes(widths, observation, action)
        return shapes

    @classmethod
    def initialise(
        cls, widths: Widths, observation: int, action: int, seeds: Sequence[int]
    ) -> Parameters:
        """Fresh parameters, row k drawn from `seeds[k]` alone (`stacked.initialise`)."""
        parameters = initialise(cls.layer_shapes(widths, observation, action), seeds)
        zeros = torch.zeros(len(seeds), 1, action)
        return parameters | {name: zeros.clone() for name in cls.extra_parameters}

    @classmethod
    def first_layers(cls) -> tuple[str, ...]:
        """Layers that read observations, before whatever else they read."""
        return tuple(chain.names[0] for chain in cls.chains)

    @classmethod
    def groups(cls) -> dict[str, list[str]]:
        """Names of the weights that are ranked together, by group (the paper's Algorithm 1)."""
        grouped: dict[str, list[str]] = {}
        for chain in cls.chains:
            names = [f"{name}.weight" for name in chain.names]
            grouped.setdefault(chain.group or chain.network, []).extend(names)
        return grouped

    def losses(self) -> dict[str, Loss]:
        """The loss of each network, also of those that don't learn: pruning asks for it."""
        raise NotImplementedError

    def acting(self, candidates: int) -> Acting:
        """Acting by the actor, unless overridden. candidates: number of actions to sample."""
        return Acting(act_by_actor)

    def update_order(self) -> tuple[str, ...]:
        """The networks that learn, in the order in which an update moves them."""
        return tuple(dict.fromkeys(chain.network for chain in self.chains))

    def period(self) -> int:
        """Number of updates between two updates of delayed networks and of all targets."""
        return 1

    def delayed_networks(self) -> tuple[str, ...]:
        """The networks that move at the last update of each period only."""
        return ()

    def noise(self) -> dict[str, int]:
        """Normal draws for each transition of an update, by the names that its losses use."""
        return {}

    def policy_metadata(self, candidates: int) -> dict[str, Any]:
        """Settings of acting to store with a policy, beside its algorithm and range of actions."""
        return {}


def algorithm_class(name: str) -> type[Algorithm]:
    """The class of an algorithm, by its name in configs. Raises KeyError for an unknown one."""
    module = import_module(f"triptych.rl.algorithms.{ALGORITHMS[name].file}")
    algorithm: type[Algorithm] = module.ALGORITHM
    return algorithm

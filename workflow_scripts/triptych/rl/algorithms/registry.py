"""The algorithms that a sweep may name, each described without PyTorch.

An algorithm's networks are chains of layers; its losses and how it acts are functions of a module
beside this one (`losses`). The fields of its dataclass are the keys of its section in the config,
by the names of its reference implementation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

BCQ_LATENT_CLIP, BC_LATENT_CLIP = 0.5, 0.25
"""Latents are standard normal, clamped to these: sfujim/BCQ's decode, BEAR's decode_bc_test."""


@dataclass(frozen=True)
class Widths:
    """Hidden units: two layers each in actor and critic, one width for all of the VAE's layers."""

    actor: tuple[int, int]
    critic: tuple[int, int]
    vae: int

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Widths":
        """Widths as config writes them: {actor: [400, 300], critic: [400, 300], vae: 750}."""
        (a1, a2), (c1, c2) = table["actor"], table["critic"]
        return cls((a1, a2), (c1, c2), table["vae"])

    def hidden(self, name: str) -> tuple[int, int]:
        """The two hidden layers of one kind of network."""
        return {"actor": self.actor, "critic": self.critic, "vae": (self.vae, self.vae)}[name]


@dataclass(frozen=True)
class Chain:
    """Three steps of layers, one behind the other; the layers of a step read the same units.

    sees: what the first reads; makes: what the last gives. group: weights that compete for being
    kept. width: a name of `Widths`.
    """

    steps: tuple[tuple[str, ...], ...]
    sees: tuple[str, ...]
    makes: str
    group: str
    width: str

    @property
    def network(self) -> str:
        """The network that it is part of: all layers of its names' first word."""
        return self.steps[0][0].partition(".")[0]

    def layers(self, widths: Widths, observation: int, action: int) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) of each layer by name. A latent is twice as long as an action."""
        sizes = {"observation": observation, "action": action, "latent": 2 * action, "value": 1}
        units = [sum(sizes[name] for name in self.sees), *widths.hidden(self.width)]
        units.append(sizes[self.makes])
        return {
            name: (units[i], units[i + 1]) for i, step in enumerate(self.steps) for name in step
        }


def chain(
    network: str, layers: str, sees: str, makes: str, group: str = "", width: str = ""
) -> Chain:
    """A chain as one writes it down: its steps apart by a space, layers of one step joined by +."""
    steps = tuple(tuple(f"{network}.{n}" for n in s.split("+")) for s in layers.split())
    return Chain(steps, tuple(sees.split()), makes, group or network, width or network)


@dataclass(frozen=True)
class Algorithm:
    """What an algorithm is; to be derived from.

    name, colour: in the config's sweeps, tables and figures. section: its settings in the config's
    `rl`, where it has any. free: parameters that are no layer's, one a component of an action,
    which begin from zero. targets: networks with a copy that follows slowly. noise_of: how many
    normal numbers a draw is, `latent` or `action`. acts_with: groups, by the first chain of each;
    chooses: the best of several candidates. contains: algorithms that its training gives too.
    """

    name: ClassVar[str]
    colour: ClassVar[str]
    section: ClassVar[str] = ""
    chains: ClassVar[tuple[Chain, ...]]
    free: ClassVar[tuple[str, ...]] = ()
    targets: ClassVar[tuple[str, ...]] = ()
    noise_of: ClassVar[str] = "action"
    acts_with: ClassVar[tuple[str, ...]] = ("actor",)
    chooses: ClassVar[bool] = False
    contains: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Settings as config writes them; `lambda` is a word of Python's."""
        return cls(**{"lmbda" if name == "lambda" else name: each for name, each in table.items()})

    def moves(self) -> tuple[tuple[str, ...], ...]:
        """The networks that learn, in the order of an update; the gradients of those that stand
        together are taken before any of them moves."""
        return tuple((network,) for network in dict.fromkeys(each.network for each in self.chains))

    def period(self) -> int:
        """Every how many updates those `delayed`, and all targets, move."""
        return 1

    def delayed(self) -> tuple[str, ...]:
        """The networks that move at the last update of a period alone."""
        return ()

    def noise(self) -> dict[str, int]:
        """Draws for each transition of an update, by what its losses call them."""
        return {}

    def stored(self, candidates: int) -> dict[str, Any]:
        """What a stored policy of it says of how it acts, beside its name and range."""
        return {}

    @property
    def learning(self) -> tuple[str, ...]:
        """The networks that learn."""
        return tuple(network for together in self.moves() for network in together)


TWIN_CRITICS = (
    chain("critic", "l1 l2 l3", "observation action", "value"),
    chain("critic", "l4 l5 l6", "observation action", "value"),
)
ACTOR = chain("actor", "l1 l2 l3", "observation", "action")


@dataclass(frozen=True)
class Bcq(Algorithm):
    """BCQ (Fujimoto et al. 2019); sfujim/BCQ's values are in the comments."""

    discount: float  # 0.99
    phi: float  # 0.05, reach of the perturbation
    lmbda: float  # 0.75, weight of the smaller of the twin targets
    target_samples: int  # 10 sampled actions in the critic's target

    name = "BCQ"
    colour = "#0072b2"
    section = "bcq"
    chains = (
        chain("actor", "l1 l2 l3", "observation action", "action"),
        *TWIN_CRITICS,
        chain("vae", "e1 e2 mean+log_std", "observation action", "latent", "encoder"),
        chain("vae", "d1 d2 d3", "observation latent", "action", "decoder"),
    )
    targets: ClassVar[tuple[str, ...]] = ("actor", "critic")
    noise_of = "latent"
    acts_with: ClassVar[tuple[str, ...]] = ("decoder", "actor", "critic")
    chooses = True
    contains: ClassVar[tuple[str, ...]] = ("BC",)

    def moves(self) -> tuple[tuple[str, ...], ...]:
        """As the reference: actor and critic's target sample from the VAE as it has become."""
        return (("vae",), ("critic",), ("actor",))

    def noise(self) -> dict[str, int]:
        """Latents."""
        return {"encoder": 1, "actor": 1, "target": self.target_samples}

    def stored(self, candidates: int) -> dict[str, Any]:
        """Reach, candidates, and where latents are clamped, BC's and BCQ's."""
        clips = {"latent_clip_bc": BC_LATENT_CLIP, "latent_clip_bcq": BCQ_LATENT_CLIP}
        return {"candidates": candidates, "phi": self.phi, **clips}


@dataclass(frozen=True)
class Bc(Bcq):
    """BC as aviralkumar2907/BEAR has it: BCQ's VAE, acting by its decoder alone."""

    name = "BC"
    colour = "#d55e00"
    targets = ()
    acts_with = ("decoder",)
    chooses = False
    contains = ()

    def moves(self) -> tuple[tuple[str, ...], ...]:
        """The VAE alone."""
        return (("vae",),)


@dataclass(frozen=True)
class Td3Bc(Algorithm):
    """TD3+BC (Fujimoto and Gu 2021); sfujim/TD3_BC's values are in the comments."""

    discount: float  # 0.99
    policy_noise: float  # 0.2, deviation of the noise on the target's action
    noise_clip: float  # 0.5
    policy_freq: int  # 2 updates of the critic for one of actor and targets
    alpha: float  # 2.5, weight of the value against the data's actions

    name = "TD3+BC"
    colour = "#009e73"
    section = "td3_bc"
    chains = (ACTOR, *TWIN_CRITICS)
    targets = ("actor", "critic")

    def moves(self) -> tuple[tuple[str, ...], ...]:
        """The critic first."""
        return (("critic",), ("actor",))

    def period(self) -> int:
        """Of the actor and all targets."""
        return self.policy_freq

    def delayed(self) -> tuple[str, ...]:
        """The actor, as the targets."""
        return ("actor",)

    def noise(self) -> dict[str, int]:
        """On the target's action."""
        return {"target": 1}


@dataclass(frozen=True)
class Iql(Algorithm):
    """IQL (Kostrikov et al. 2022); the values of its authors (configs/mujoco_config.py) stand
    behind each.

    reference: `authors`, or `corl`, where all three losses are those of the networks before any of
    them moves, the critic's is half as large, and a deviation may be smaller.
    """

    discount: float  # 0.99
    expectile: float  # 0.7
    temperature: float  # 3.0, of the advantages' exponential
    reference: str

    name = "IQL"
    colour = "#aa4499"
    section = "iql"
    chains = (
        ACTOR,
        *TWIN_CRITICS,
        chain("value", "l1 l2 l3", "observation", "value", width="critic"),
    )
    free = ("actor.log_std",)
    targets = ("critic",)

    def moves(self) -> tuple[tuple[str, ...], ...]:
        """The authors' actor and critic take V as it has become."""
        if self.reference == "corl":
            return (("value", "critic", "actor"),)
        return (("value",), ("actor", "critic"))


ALGORITHMS: dict[str, type[Algorithm]] = {
    Bcq.name: Bcq,
    Bc.name: Bc,
    Td3Bc.name: Td3Bc,
    Iql.name: Iql,
}
"""In the order of tables and figures."""

CHAINS = tuple({each.steps: each for one in ALGORITHMS.values() for each in one.chains}.values())
"""Every chain of layers that any algorithm has; chains of the same layers have one group."""


def layer_shapes(
    widths: Widths, observation: int, action: int, algorithm: type[Algorithm] = Bcq
) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of each linear layer of an algorithm by name, in forward order."""
    return {
        name: shape
        for each in algorithm.chains
        for name, shape in each.layers(widths, observation, action).items()
    }


def networks_name(widths: str, algorithm: str) -> str:
    """What tables call networks of a named set of widths: by their algorithm too, but BCQ's."""
    return widths if algorithm in (Bcq.name, Bc.name) else f"{widths}, {algorithm}"

"""BC as aviralkumar2907/BEAR has it: BCQ's VAE, acting by its decoder alone.

A BCQ run therefore contains a BC run. Actor and critic are pruned, too, though BC leaves them.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from triptych.rl.algorithms.bcq import BC_LATENT_CLIP, Bcq
from triptych.rl.networks.stacked import Acting, Parameters, decode

NAME = "BC"
SECTION = "bcq"
PLACE = 2
COLOUR = "#d55e00"


@dataclass(frozen=True)
class Bc(Bcq):
    """BC, with BCQ's settings."""

    name = NAME
    target_networks = ()
    acting_groups: ClassVar[tuple[str, ...]] = ("decoder",)

    def acting(self, candidates: int) -> Acting:
        return Acting(act_bc, 1, BC_LATENT_CLIP)

    def update_order(self) -> tuple[str, ...]:
        return ("vae",)


ALGORITHM = Bc


def act_bc(parameters: Parameters, observations: Tensor, latent: Tensor) -> Tensor:
    """`observations` [K, E, S] and latents [K, E, 1, 2A] decoded to actions [K, E, A]."""
    return decode(parameters, observations, latent.squeeze(2))

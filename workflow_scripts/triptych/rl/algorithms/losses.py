"""The losses of each algorithm of the registry, and how it acts, as functions of PyTorch."""

from collections.abc import Callable
from typing import Any

from triptych.rl.algorithms import bcq, iql, td3_bc
from triptych.rl.algorithms.networks import Acting, Loss, act_by_actor
from triptych.rl.algorithms.registry import Algorithm

LOSSES: dict[str, Callable[[Any], dict[str, Loss]]] = {
    "BCQ": bcq.losses,
    "BC": bcq.losses,  # of actor and critic too: what BC doesn't train is pruned
    "TD3+BC": td3_bc.losses,
    "IQL": iql.losses,
}
"""By an algorithm's settings the loss of each of its networks, by the algorithm's name."""
ACTING: dict[str, Callable[[Any, int], Acting]] = {"BCQ": bcq.acting, "BC": bcq.acting_bc}
"""By settings and candidates how an algorithm acts that doesn't act by its actor."""


def losses_of(algorithm: Algorithm) -> dict[str, Loss]:
    """The loss of each network, of those too that don't learn: pruning asks for it."""
    return LOSSES[algorithm.name](algorithm)


def acting_of(algorithm: Algorithm, candidates: int) -> Acting:
    """How an algorithm acts. candidates: sampled where it chooses among several."""
    if algorithm.name in ACTING:
        return ACTING[algorithm.name](algorithm, candidates)
    return Acting(act_by_actor)

"""SynFlow (Tanaka et al. 2020): the flow through each weight, in many rounds, without data."""

import torch
from torch import Tensor

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.keeping import keep_count
from triptych.rl.pruning.unpruned import Unpruned

LABEL = "SynFlow"
COLOUR = "#0072b2"
DASH = (0, (4, 1.5, 1, 1.5))
MARKER = "X"
PLACE = 15
CONTROL = True

ROUNDS = 100
"""Rounds to the sparsity (algorithm 1 of Tanaka et al.)."""


def masks(networks: Unpruned, percent: float) -> Parameters:
    """Keep the weights of the largest flow in each group."""
    chains = [chain.names for chain in networks.algorithm.chains]
    masks: Parameters = {}
    for group in networks.groups():
        masks |= synaptic_flow({name: networks.weights[name] for name in group}, chains, percent)
    return masks


def synaptic_flow(weights: Parameters, chains: list[tuple[str, ...]], percent: float) -> Parameters:
    """Masks of the layers of one group, [K, in, out] by name.

    In each round the weights kept so far are scored by |theta dR/dtheta|, where R is the sum of the
    outputs of the network with |theta| for theta and inputs of ones; the share kept decreases
    geometrically. chains: names of the layers behind one another.
    """
    magnitudes = {name: value.detach().abs().double() for name, value in weights.items()}
    masks = {name: torch.ones_like(value, dtype=torch.bool) for name, value in weights.items()}
    share = 1 - percent / 100
    total = sum(value[0].numel() for value in weights.values())
    for step in range(1, ROUNDS + 1):
        live = {name: (value * masks[name]).requires_grad_() for name, value in magnitudes.items()}
        flows = [_flow(live, chain) for chain in chains if f"{chain[0]}.weight" in live]
        gradients = torch.autograd.grad(torch.stack(flows).sum(), list(live.values()))
        scores = {
            name: (value * gradient).detach()
            for (name, value), gradient in zip(live.items(), gradients, strict=True)
        }
        masks = keep_count(scores, round(total * share ** (step / ROUNDS)))
    return masks


def _flow(live: Parameters, chain: tuple[str, ...]) -> Tensor:
    """The sum of a chain's outputs for inputs of ones."""
    first, second, *outputs = (live[f"{layer}.weight"] for layer in chain)
    units = first.new_ones(len(first), 1, first.shape[1]) @ first @ second
    return torch.stack([(units @ output).sum() for output in outputs]).sum()

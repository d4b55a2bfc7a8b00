"""SNIP (Lee et al. 2019): how sensitive the loss is to each connection (the paper's Eq. 1)."""

import torch

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.unpruned import BatchLoss, Scores, Unpruned

LABEL = "SNIP"
COLOUR = "#009e73"
PLACE = 1
BATCH = "snip_batch"


def masks(networks: Unpruned, percent: float) -> Parameters:
    """Keep the weights of the largest sensitivities in each group."""
    return networks.largest_by_loss(connection_sensitivity, BATCH, percent)


def connection_sensitivity(weights: Parameters, loss: BatchLoss) -> Scores:
    """|theta * dL/dtheta| of each weight that `loss` depends on."""
    gradients = torch.autograd.grad(loss().sum(), list(weights.values()))
    return {
        name: (weight * gradient).abs().detach()
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }

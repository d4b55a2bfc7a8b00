"""GraSP (Wang et al. 2020): preserve the flow of gradients through the pruned network (Eq. 4)."""

import torch

from triptych.rl.networks.stacked import Parameters
from triptych.rl.pruning.unpruned import BatchLoss, Scores, Unpruned

LABEL = "GraSP"
COLOUR = "#aa4499"
PLACE = 2
BATCH = "grasp_batch"


def masks(networks: Unpruned, percent: float) -> Parameters:
    """Keep the weights of the largest theta * Hg in each group."""
    return networks.largest_by_loss(gradient_signal_preservation, BATCH, percent)


def gradient_signal_preservation(weights: Parameters, loss: BatchLoss) -> Scores:
    """theta * Hg of each weight; Eq. 4 gives -theta * Hg and removes the largest.

    H and g are taken over the weights of one network. `loss` is evaluated once, so both passes see
    the same noise.
    """
    tensors = list(weights.values())
    gradients = torch.autograd.grad(loss().sum(), tensors, create_graph=True)
    product = torch.stack([(g * g.detach()).sum() for g in gradients]).sum()
    hessian_gradient = torch.autograd.grad(product, tensors)
    return {
        name: (weight * curvature).detach()
        for (name, weight), curvature in zip(weights.items(), hessian_gradient, strict=True)
    }

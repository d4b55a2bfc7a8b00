"""The style study's steps, counted on shapes: what its costs are compared with."""

from dataclasses import replace

import torch
from counting import counted, shapes_only

from triptych.core.cost import Work
from triptych.core.device import training_precision
from triptych.style.backbones.architectures import ARCHITECTURES
from triptych.style.backbones.backbone import IMAGENET_MEAN, IMAGENET_STD, Backbone, PoolingKind
from triptych.style.feedforward.network import Architecture, TransformationNetwork
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss
from triptych.style.optimisation.objective import Objective
from triptych.style.optimisation.optimizers import row_optimizer
from triptych.style.optimisation.presets import Choices

CPU = torch.device("cpu")


def closure_counted(architecture: str, choices: Choices, size: int) -> Work:
    """One evaluation of Version 1: the loss of one square image, its gradient, the step."""
    with shapes_only():
        image = torch.empty(1, 3, size, size)
        objective = Objective(
            backbone(architecture, choices.pooling),
            replace(choices, precision="float32"),
            [image[0]],
            [image[0]],
        )
        leaf = image.requires_grad_()
        total = counted(lambda: torch.autograd.grad(objective.terms(leaf).total.sum(), leaf))
    return total + step_counted(choices, 3 * size * size)


def training_counted(
    architecture: Architecture,
    loss: LossSettings,
    name: str,
    pooling: PoolingKind,
    painting: int,
    batch: int,
    size: int,
    precision: str,
) -> Work:
    """One step of Version 2: the network and the loss forward and backward, and Adam."""
    with shapes_only():
        network = TransformationNetwork(architecture)
        adam = torch.optim.Adam(network.parameters(), fused=True)
        objective = PerceptualLoss(
            backbone(name, pooling), loss, [torch.empty(3, painting, painting * 4 // 3)]
        )
        images = torch.empty(batch, 3, size, size)

        def step() -> None:
            with training_precision(CPU, precision):
                stylised = network(images)
                terms = list(objective.terms(images, stylised).values())
                if loss.temporal_weight:
                    terms.append((network(images) - stylised).float().square().mean())
            torch.stack(terms).sum().backward()
            adam.step()

        return counted(step)


def forward_counted(architecture: Architecture, height: int, width: int) -> Work:
    """One image through the network of Version 2."""
    with shapes_only(), torch.no_grad():
        network = TransformationNetwork(architecture)
        images = torch.empty(1, 3, height, width)
        return counted(lambda: network(images))


def backbone(architecture: str, pooling: PoolingKind) -> Backbone:
    known = ARCHITECTURES[architecture]
    weights = {name: torch.empty(shape) for name, shape in known.shapes().items()}
    return Backbone(known, weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling)


def step_counted(choices: Choices, values: int) -> Work:
    """The optimiser's part of an evaluation, once its memory is full.

    Run on a few values, since how it goes on depends on them, and scaled to all.
    """
    few = 300
    rows_ = torch.linspace(-1, 1, few)[None].clone()
    steepness = torch.logspace(-4, 0, few)
    optimizer = row_optimizer(choices, rows_)

    def step() -> None:
        gradients = optimizer.rows * steepness
        optimizer.step((gradients * optimizer.rows).sum(1) / 2, gradients)

    full = choices.history + 1 if choices.optimizer == "lbfgs" else 1
    for _ in range(full):
        step()
    work = counted(step)
    return replace(work, traffic=work.traffic * values / few)

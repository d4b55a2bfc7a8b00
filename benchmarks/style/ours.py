"""The bench's own side: what the workflow does with the same layers, weights and images."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import torch

from benchmarks.style.inputs import (
    BATCH,
    DEVICE,
    STYLES,
    image,
    vgg_layers,
)
from triptych.style.data.backbone import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    from_torchvision,
)
from triptych.style.network.architecture import Architecture
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import initial_network
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.network.training import TrainingRun
from triptych.style.network.training_data import TrainingSettings
from triptych.style.optimise.choices import preset
from triptych.style.optimise.objective import Objective


def backbone(name: str) -> Backbone:
    """Ours with the random weights of `vgg_layers`, so that both compute the same."""
    state = {f"features.{key}": value for key, value in vgg_layers(name).state_dict().items()}
    weights = from_torchvision(state, name)
    return Backbone(
        ARCHITECTURES[name], weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling="max"
    ).to(DEVICE)


@dataclass(frozen=True)
class Ours:
    """The workflow's code in one precision; tasks as those of `Plain`."""

    precision: Literal["float32", "bf16"]
    compiled: ClassVar[bool] = False

    def forward(self, size: int, width: int) -> Callable[[], object]:
        """By a network that is prepared once."""
        network = TransformationNetwork(Architecture(width, "nearest")).to(DEVICE)
        return partial(PreparedNetwork(network, self.precision), image(1, 3, size, size))

    def conditional(self, size: int, width: int) -> Callable[[], object]:
        """By a network for each of the styles, prepared once."""
        network = TransformationNetwork(Architecture(width, "nearest", styles=STYLES)).to(DEVICE)
        prepared = [PreparedNetwork(each, self.precision) for each in network.alone()[:BATCH]]
        photograph = image(1, 3, size, size)
        return lambda: [each(photograph) for each in prepared]

    def step(self, size: int, width: int) -> Callable[[], object]:
        """An update of the weights by the workflow's training."""
        architecture = Architecture(width, "nearest")
        settings = LossSettings(
            content_layers=("relu2_2",),
            style_layers=("relu1_2", "relu2_2", "relu3_3", "relu4_3"),
            scaling="mean",
            content_weight=1e5,
            style_weight=1e10,
            total_variation_weight=0.0,
        )
        paintings = list(image(1, 3, size, size))
        loss = PerceptualLoss(backbone("vgg16"), settings, paintings)
        training = TrainingSettings(
            batches=10**6,
            batch=BATCH,
            size=size,
            learning_rate=1e-3,
            schedule="constant",
            flips=False,
            checkpoint_every=10**6,
            log_every=10**6,
            precision=self.precision,
            seed=0,
        )
        # It writes no checkpoint in so few batches.
        network = initial_network(architecture, training.seed)
        run = TrainingRun(network, loss, training, DEVICE, Path("unused"))
        return partial(run.step, (255 * image(BATCH, 3, size, size)).byte())

    def closure(self, size: int, width: int) -> Callable[[], object]:
        """By `Objective`, with the plain closure's layers and pooling."""
        changed = {"pooling": "max", "scaling": "relative", "precision": self.precision}
        choices = preset("paper", "vgg19", **changed)
        given = list(image(2, 3, size, size))
        objective = Objective(backbone("vgg19"), choices, given[:1], given[1:])
        images = image(1, 3, size, size).requires_grad_()
        return lambda: torch.autograd.grad(objective.terms(images).total.sum(), images)

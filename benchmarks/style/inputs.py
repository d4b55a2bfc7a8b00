"""What both sides of the bench are given: the same layers, weights, images and sizes."""

from functools import cache

import torch
from torch import Tensor
from torchvision.models import vgg

from triptych.core.device import choose_device

DEVICE = choose_device("auto")

BATCH = 4
"""Images of a training step, and of "conditional" styles."""

STYLES = 8
"""Of the conditional network."""


@cache
def vgg_layers(name: str) -> torch.nn.Sequential:
    """torchvision's convolutional layers with random weights; their speed is that of any."""
    torch.manual_seed(0)
    layers = vgg.make_layers(vgg.cfgs[{"vgg16": "D", "vgg19": "E"}[name]])
    return layers.to(DEVICE).eval().requires_grad_(False)


def image(*shape: int) -> Tensor:
    """Random images [*shape] in [0, 1]."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)

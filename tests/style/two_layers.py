"""A two-layer backbone with random weights, in float64, and choices that fit it."""

from dataclasses import replace
from typing import Any

import torch
from random_networks import backbone
from torch import Tensor

from triptych.style.data.architectures import Architecture, Convolution, Pooling
from triptych.style.data.backbone import Backbone
from triptych.style.optimise.choices import Choices

TWO_LAYERS = Architecture(
    "two_layers", (Convolution("conv1", 3, 4), Pooling(2, 2), Convolution("conv2", 4, 6))
)

CHOICES = Choices(
    pooling="average",
    normalised=False,
    content_layer="relu2",
    style_layers=("relu1", "relu2"),
    scaling="relative",
    content_weight=0.3,
    style_weight=1.0,
    layer_weights=(0.5, 0.5),
    total_variation_weight=0.1,
    rates="tuned",
    learning_rate=1.0,
    by_pixels=True,
)


def small_backbone(dtype: torch.dtype = torch.float64) -> Backbone:
    return backbone(TWO_LAYERS, "average", dtype)


def images(count: int, seed: int = 1, height: int = 12, width: int = 10) -> Tensor:
    """Smooth random images [count, 3, H, W] in [0, 1]."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, 3, 4, 4, generator=generator, dtype=torch.float64)
    return torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear")


def choices(**changes: Any) -> Choices:
    return replace(CHOICES, **changes)

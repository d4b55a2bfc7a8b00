"""Losses and gradients tile by tile, against those of the image as one."""

from dataclasses import replace

import pytest
import torch
from random_networks import backbone as backbone_of
from torch import Tensor
from two_layers import images

from triptych.style.data.architectures import (
    ARCHITECTURES,
    Architecture,
    Convolution,
    Pooling,
)
from triptych.style.data.backbone import Backbone, PoolingKind
from triptych.style.optimise.objective import Objective
from triptych.style.optimise.presets import Choices, preset
from triptych.style.optimise.styles import Painting

CASES = [
    ("tuned", "vgg16", (97, 131), 32),
    ("paper", "vgg16", (131, 75), 48),
    ("authors", "narrow_alexnet", (64, 150), 16),
]


def thin(architecture: Architecture) -> Architecture:
    """The same layers with few filters: what counts here is which pixels they look at."""
    filters = 3
    layers: list[Convolution | Pooling] = []
    for number, layer in enumerate(architecture.layers):
        if isinstance(layer, Convolution):
            layer = replace(layer, inputs=filters, outputs=4 + number % 3)
            filters = layer.outputs
        layers.append(layer)
    return Architecture(architecture.name, tuple(layers))


def noise(seed: int, height: int, width: int, dtype: torch.dtype) -> Tensor:
    """[1, 3, H, W]; in a smooth image a maximum may be reached twice, but for rounding."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(1, 3, height, width, generator=generator, dtype=torch.float64).to(dtype)


def evaluated(
    backbone: Backbone, chosen: Choices, size: tuple[int, int], side: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Values, losses and gradients of a random image against another and a painting."""
    dtype = next(iter(backbone.weights.values())).dtype
    content, painting = noise(5, *size, dtype), noise(6, 61, 83, dtype)
    objective = Objective(backbone, chosen, list(content), list(painting), side)
    start = noise(7, *size, dtype)
    return objective.evaluated(start.flatten(1), start.shape[1:], 1)


def far(found: Tensor, expected: Tensor) -> float:
    """The largest difference over the largest value."""
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize("pooling", ["max", "average"])
@pytest.mark.parametrize(("name", "architecture", "size", "side"), CASES)
def test_tiles_give_the_whole_images_losses_and_gradient(
    name: str, architecture: str, pooling: PoolingKind, size: tuple[int, int], side: int
) -> None:
    chosen = replace(preset(name, architecture, pooling=pooling), total_variation_weight=0.3)
    backbone = backbone_of(thin(ARCHITECTURES[architecture]), pooling, torch.float64)
    whole = evaluated(backbone, chosen, size, None)
    tiled = evaluated(backbone, chosen, size, side)
    for found, expected in zip(tiled, whole, strict=True):
        assert far(found, expected) < 1e-11


def test_masked_and_mixed_paintings_are_cut_into_tiles_too() -> None:
    content, one, other = (
        noise(5, 97, 131, torch.float64),
        noise(6, 61, 83, torch.float64),
        images(2)[1],
    )
    mask = noise(7, 61, 83, torch.float64)[:, 0]
    style = [
        Painting(one[0], 2.0, mask),
        Painting(other.repeat(1, 6, 6)),
    ]
    chosen = preset("tuned", "vgg16")
    backbone = backbone_of(thin(ARCHITECTURES["vgg16"]), "average", torch.float64)
    rows = noise(8, 97, 131, torch.float64).flatten(1)
    whole, tiled = (
        Objective(backbone, chosen, list(content), [style], side).evaluated(
            rows, content.shape[1:], 1
        )
        for side in (None, 32)
    )
    for found, expected in zip(tiled, whole, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)

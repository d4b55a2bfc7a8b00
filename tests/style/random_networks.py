"""Untrained networks, backbones and pictures."""

import torch

from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.architectures import Architecture as Layers
from triptych.style.data.backbone import IMAGENET_MEAN, IMAGENET_STD, Backbone, PoolingKind
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork


def network(
    upsampling="nearest", blocks=(0, 0), palette=False, width=4, halved=False
) -> TransformationNetwork:
    """Random weights, biases and affine parts; results of some 100 levels. Grain with a palette."""
    torch.manual_seed(1)
    shape = Architecture(width, upsampling, blocks, palette, halved=halved)
    made = TransformationNetwork(shape)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        if made.palette is None:
            made.deconv3.conv2d.weight.mul_(30)
        else:
            made.palette.take([torch.rand(3, 20, 20)])
    return made.eval().requires_grad_(False)


def backbone(
    architecture: str | Layers, pooling: PoolingKind = "max", dtype: torch.dtype = torch.float32
) -> Backbone:
    """Random weights that keep activations about as large from layer to layer."""
    layers = ARCHITECTURES[architecture] if isinstance(architecture, str) else architecture
    generator = torch.Generator().manual_seed(3)
    weights = {}
    for key, shape in layers.shapes().items():
        spread = (2 / torch.Size(shape[1:]).numel()) ** 0.5 if len(shape) > 1 else 0.1
        drawn = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
        weights[key] = drawn.to(dtype)
    return Backbone(layers, weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling)


def image(height: int, width: int) -> torch.Tensor:
    """Smooth colours with noise, so that means differ from tile to tile."""
    generator = torch.Generator().manual_seed(height * width)
    noise = torch.rand(3, height, width, generator=generator)
    slope = torch.linspace(0, 1, width) * torch.linspace(0, 1, height)[:, None]
    return 0.3 * noise + 0.7 * slope

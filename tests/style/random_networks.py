"""Untrained networks and pictures for the tests of inference."""

import torch

from triptych.style.network.network import Architecture, TransformationNetwork


def network(
    upsampling="nearest", blocks=(0, 0), palette=False, width=4, halved=False
) -> TransformationNetwork:
    """Random weights, biases and affine parts; results of some 100 levels. Grain with a palette."""
    torch.manual_seed(1)
    grain = 2 if palette else 0
    shape = Architecture(width, upsampling, blocks, palette, grain, halved=halved)
    made = TransformationNetwork(shape)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        if made.palette is None:
            made.deconv3.conv2d.weight.mul_(30)
        else:
            made.palette.take([torch.rand(3, 20, 20)])
    return made.eval().requires_grad_(False)


def image(height: int, width: int) -> torch.Tensor:
    """Smooth colours with noise, so that means differ from tile to tile."""
    generator = torch.Generator().manual_seed(height * width)
    noise = torch.rand(3, height, width, generator=generator)
    slope = torch.linspace(0, 1, width) * torch.linspace(0, 1, height)[:, None]
    return 0.3 * noise + 0.7 * slope

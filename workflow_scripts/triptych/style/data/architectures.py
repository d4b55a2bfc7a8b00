"""The convolutional parts of VGG and AlexNet, and of a narrow network of AlexNet's shape.

The layers bear the names of Simonyan and Zisserman's VGG: "conv3_2" is the second convolution of
stage 3 before its ReLU, "relu3_2" the same after it. AlexNet's are "conv1" to "conv5".
"""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Convolution:
    """A convolution with bias, followed by a ReLU; sizes in pixels."""

    name: str
    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1

    @property
    def relu(self) -> str:
        """Name of the layer after the ReLU."""
        return "relu" + self.name.removeprefix("conv")


@dataclass(frozen=True)
class Pooling:
    """A pooling window, in pixels; of which kind is the network's affair."""

    kernel: int
    stride: int


@dataclass(frozen=True)
class Architecture:
    """The convolutional part of a network, layer by layer."""

    name: str
    layers: tuple[Convolution | Pooling, ...]

    @property
    def convolutions(self) -> dict[str, Convolution]:
        return {layer.name: layer for layer in self.layers if isinstance(layer, Convolution)}

    @property
    def layer_names(self) -> list[str]:
        """All names that `Backbone` can be asked for, from shallow to deep."""
        return [name for layer in self.convolutions.values() for name in (layer.name, layer.relu)]

    def channels(self, layer: str) -> int:
        return self.convolutions["conv" + layer.removeprefix("relu").removeprefix("conv")].outputs

    def smallest_side(self, layers: Collection[str]) -> int:
        """Pixels that a side must have so that each of `layers` has a position."""
        return next(side for side in itertools.count(1) if min(self.lengths(layers, side)) > 0)

    def lengths(self, layers: Collection[str], pixels: int) -> list[int]:
        """Positions along `pixels` of each convolution, up to the deepest of `layers`."""
        positions: list[int] = []
        missing = set(layers)
        for layer in self.layers:
            if not missing:
                break
            padding = layer.padding if isinstance(layer, Convolution) else 0
            pixels = (pixels + 2 * padding - layer.kernel) // layer.stride + 1
            if isinstance(layer, Convolution):
                positions.append(pixels)
                missing -= {layer.name, layer.relu}
        return positions

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every weight and bias, by the key under which a file holds it."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name, layer in self.convolutions.items():
            shapes[f"{name}.weight"] = (layer.outputs, layer.inputs, layer.kernel, layer.kernel)
            shapes[f"{name}.bias"] = (layer.outputs,)
        return shapes


def _vgg(name: str, widths: Sequence[int], depths: Sequence[int]) -> Architecture:
    layers: list[Convolution | Pooling] = []
    inputs = 3
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True), 1):
        for number in range(1, depth + 1):
            layers.append(Convolution(f"conv{stage}_{number}", inputs, width))
            inputs = width
        layers.append(Pooling(2, 2))
    return Architecture(name, tuple(layers[:-1]))  # nothing is read behind the last pooling


def _alexnet(name: str, widths: Sequence[int]) -> Architecture:
    first, second, third, fourth, fifth = widths
    return Architecture(
        name,
        (
            Convolution("conv1", 3, first, kernel=11, stride=4, padding=2),
            Pooling(3, 2),
            Convolution("conv2", first, second, kernel=5, padding=2),
            Pooling(3, 2),
            Convolution("conv3", second, third),
            Convolution("conv4", third, fourth),
            Convolution("conv5", fourth, fifth),
        ),
    )


ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (
        _vgg("vgg16", (64, 128, 256, 512, 512), (2, 2, 3, 3, 3)),
        _vgg("vgg19", (64, 128, 256, 512, 512), (2, 2, 4, 4, 4)),
        _alexnet("alexnet", (64, 192, 384, 256, 256)),
        _alexnet("narrow_alexnet", (32, 96, 128, 96, 96)),
    )
}

FIRST_OF_STAGES = {
    "vgg": tuple(f"relu{stage}_1" for stage in range(1, 6)),
    "alexnet": tuple(f"relu{stage}" for stage in range(1, 6)),
}
"""The first layer of each stage after its ReLU, by family of architectures."""

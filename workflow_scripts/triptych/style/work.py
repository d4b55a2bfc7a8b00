"""What the style study's steps ask of a processor, in closed form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from triptych.core.cost import Work, moved, product
from triptych.style.backbones.architectures import (
    ARCHITECTURES,
    ORIENTED,
    ORIENTED_FILTERS,
    ORIENTED_SIDE,
    Pooling,
)
from triptych.style.optimisation.presets import Choices

HALF = 0.9
"""Of float32's traffic, in half precision: there is less to move, and more to cast."""


GRAIN_WAVES = 64
"""That a channel of the grain is the sum of."""


class Read(NamedTuple):
    """The layers that losses look at;  relative: to the content's own deviation."""

    contents: Sequence[str]
    styles: Sequence[str]
    relative: bool = False


@lru_cache(maxsize=64)
def closure_work(architecture: str, choices: Choices, size: int) -> Work:
    """One evaluation of Version 1: the loss of one square image, its gradient, the step."""
    read = Read([choices.content_layer], choices.style_layers, choices.scaling == "relative")
    work = backbone_work(architecture, read, choices.pooling, 1, size)
    pixels = 3 * size**2
    if choices.total_variation_weight:
        work += moved(pixels, 45, 30)
    return work + _step_work(choices, pixels)


def training_work(
    network: Mapping[str, Any],
    losses: Mapping[str, Any],
    architecture: str,
    pooling: str,
    batch: int,
    size: int,
    precision: str,
) -> Work:
    """One step of Version 2: the network and the loss forward and backward, and Adam.

    network, losses: the config's;  architecture, pooling: of the loss network
    """
    read = Read(losses["content_layers"], losses["style_layers"], losses["scaling"] == "relative")
    work = network_work(network, batch, size, size, True)
    work = work * (2 if losses["temporal_weight"] else 1)
    work += backbone_work(architecture, read, pooling, batch, size)
    work += backbone_work(architecture, Read(read.contents, ()), pooling, batch, size, back=False)
    # Total variation, the gamut, the disturbance; Adam.
    work += moved(batch * 3 * size**2, 30, 60) + moved(network_parameters(network), 8, 200)
    half = precision in ("bf16", "fp16")
    return replace(work, traffic=HALF * work.traffic) if half else work


def forward_work(network: Mapping[str, Any], height: int, width: int) -> Work:
    """One image through the network of Version 2."""
    return network_work(network, 1, height, width, False)


def backbone_work(
    architecture: str, read: Read, pooling: str, images: int, size: int, back: bool = True
) -> Work:
    """Square images through a backbone as far as it is read, and what reads it; and back."""
    left = {*read.contents, *read.styles} - set(ORIENTED)
    ways, channels, side, numbers = 1 + back, 3, size, images * 3 * size**2
    work = moved(numbers, 4 + 2 * back, 2 + back)
    for level, name in enumerate(ORIENTED):
        if name in read.styles:
            positions = images * (size >> level) ** 2
            work += product(positions, ORIENTED_SIDE**2 * 3, ORIENTED_FILTERS, ways)
            work += _gram_work(positions, 2 * ORIENTED_FILTERS, images, back)
            work += moved(2 * ORIENTED_FILTERS * positions, 4 + 5 * back, 3 * ways)
    for layer in ARCHITECTURES[architecture].layers:
        if isinstance(layer, Pooling):
            side = (side - layer.kernel) // layer.stride + 1
            before, numbers = numbers, images * channels * side**2
            indices = 2 if pooling == "max" else 0
            work += moved((1 + 2 * back) * before + ways * (1 + indices) * numbers, 1, ways)
            continue
        side = (side + 2 * layer.padding - layer.kernel) // layer.stride + 1
        channels, positions = layer.outputs, images * side**2
        numbers = channels * positions
        work += product(positions, layer.kernel**2 * layer.inputs, channels, ways)
        for name, passes in ((layer.name, 2 + 3 * back), (layer.relu, 0)):
            left.discard(name)
            if name in read.styles:
                work += _gram_work(positions, channels, images, back)
            if name in read.contents and (read.styles or back):
                work += moved(numbers, 26 if read.relative else 11, 20)
            if not left:
                return work
            work += moved(numbers, passes, ways if passes else 0)  # the ReLU
    raise ValueError(f"{architecture} has no layer {', '.join(sorted(left))}")


def _gram_work(positions: int, channels: int, images: int, back: bool) -> Work:
    """Gram matrices of all positions of some images, and their distances; and back."""
    work = product(positions, channels, channels, 1 + back)
    return work + moved(positions * channels, 3 * back, back) + moved(images * channels**2, 20, 17)


class _Layer(NamedTuple):
    """A convolution of Version 2: its output has height and width over `reduced`."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    reduced: int
    doubles: bool = False


def _layers(network: Mapping[str, Any]) -> list[_Layer]:
    narrow = network["width"]
    middle, wide = 2 * narrow, 4 * narrow
    return [
        _Layer(3 + network["grain"], narrow, 9, 1, 1),
        _Layer(narrow, middle, 3, 2, 2),
        _Layer(middle, wide, 3, 2, 4),
        *[layer for halvings in network["blocks"] for layer in _block(wide, halvings)],
        _Layer(wide, middle, 3, 1, 2, True),
        _Layer(middle, narrow, 3, 1, 1, True),
        _Layer(narrow, 3, 9, 1, 1),
    ]


def _block(wide: int, halvings: int) -> list[_Layer]:
    """A residual block's convolutions."""
    if not halvings:
        return [_Layer(wide, wide, 3, 1, 4)] * 2
    sizes = [8 << number for number in range(halvings)]
    down = [_Layer(wide, wide, 3, 2, size) for size in sizes]
    return down + [_Layer(wide, wide, 3, 1, size // 2, True) for size in reversed(sizes)]


def network_parameters(network: Mapping[str, Any]) -> int:
    """Trained numbers of Version 2's network: weights, biases, and two for each normed channel."""
    *normed, last = _layers(network)
    numbers = sum((each.kernel**2 * each.inputs + 3) * each.outputs for each in normed)
    return numbers + (last.kernel**2 * last.inputs + 1) * last.outputs


def network_work(
    network: Mapping[str, Any], images: int, height: int, width: int, back: bool
) -> Work:
    """Images through Version 2's network, of any sides; and back."""
    multiple = 4 << max(network["blocks"], default=0)
    height, width = (-(-side // multiple) * multiple for side in (height, width))
    pixels, ways = images * height * width, 1 + back
    work = moved(3 * pixels, (14 if network["palette"] else 4) * ways, 10 * ways)
    work += product(height * width, 2 * GRAIN_WAVES, network["grain"])
    work += moved(network["grain"] * height * width, 4, 12)
    transposed = network["upsampling"] == "transposed"
    *normed, last = _layers(network)
    for number, layer in enumerate([*normed, last]):
        positions = pixels / layer.reduced**2
        seen, made = positions * layer.stride**2 * layer.inputs, positions * layer.outputs
        times = 1 + back * (2 if number else 1)
        if layer.doubles and transposed:
            # A transposed convolution multiplies each of its inputs, not of its outputs.
            work += product(positions / 4, 9 * layer.inputs, layer.outputs, times)
        elif layer.doubles:
            # Four convolutions 2x2 at the low resolution, put in each other's gaps.
            low = images * math.prod(side // (2 * layer.reduced) + 1 for side in (height, width))
            work += product(low, 4 * layer.inputs, 4 * layer.outputs, times)
            work += moved(low * layer.inputs, 2 * ways, ways) + moved(made, 2 * ways, ways)
        else:
            work += product(positions, layer.kernel**2 * layer.inputs, layer.outputs, times)
            work += moved(seen, 2 * (ways if number else 1), ways)  # the padding
        if layer is not last:
            # The norm, and behind it a ReLU, or after each second one of a block the sum.
            work += moved(made, 4 + 6 * back, 5 + 9 * back)
    return work


@lru_cache(maxsize=32)
def _step_work(choices: Choices, values: int) -> Work:
    """The optimiser's part of an evaluation, once its memory is full."""
    if choices.optimizer == "lbfgs":
        return moved(values, 48 + 14 * choices.history, 66 + 7 * choices.history)
    passes = {"adam": 20}.get(choices.optimizer, 8 + 8 * choices.normalised_gradient)
    return moved(values, passes, 10)

"""One image of any size through the network in little memory, exactly.

Every layer is convolved tile by tile, with true halos; means and squared deviations of the tiles
are summed, and normalisation and ReLU happen when the next layer reads. The two layers at full
resolution are computed again where they are read, which leaves 24 values a pixel for width 32.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from triptych.style.network import fast
from triptych.style.network.fast import KnownNorm, Moments, PreparedNetwork, Stage
from triptych.style.network.network import STRIDE, TransformationNetwork, padded_to_multiple

TILE = 256
"""Pixels: large enough for little halo, small enough that a layer's tile is under 32 MB."""

WORKING_COPIES = 8


@dataclass(frozen=True)
class Box:
    """Rows [top, bottom) and columns [left, right)."""

    top: int
    bottom: int
    left: int
    right: int


class Source(Protocol):
    """A layer's activations, wherever they come from."""

    height: int
    width: int

    def read(self, box: Box) -> Tensor:
        """[1, C, h, w] of a box that lies inside the image."""


class Pixels:
    """The image itself as the first layer's source."""

    def __init__(self, image: Tensor, network: PreparedNetwork) -> None:
        self.image, self.network = image, network
        self.height, self.width = image.shape[-2:]

    def read(self, box: Box) -> Tensor:
        """[1, 3 + grain, h, w] of a box that lies inside the image."""
        return self.network.enter(_view(self.image, box), box.top, box.left)


class Stored:
    """A layer kept in memory as its convolution left it; normalised when it is read."""

    def __init__(self, values: Tensor, dtype: torch.dtype, norm: KnownNorm | None = None) -> None:
        self.values, self.dtype, self.norm = values, dtype, norm
        self.height, self.width = values.shape[-2:]

    def read(self, box: Box) -> Tensor:
        """[1, C, h, w] of a box that lies inside the image."""
        x = _view(self.values, box)
        return x.to(self.dtype) if self.norm is None else self.norm.apply(x, self.dtype).relu_()


class Recomputed:
    """A layer that is convolved again each time it is read."""

    def __init__(self, source: Source, stage: Stage, norm: KnownNorm) -> None:
        self.source, self.stage, self.norm = source, stage, norm
        self.height, self.width = _size(source, stage)

    def read(self, box: Box) -> Tensor:
        """[1, C, h, w] of a box that lies inside the image."""
        return self.norm.apply(_convolved(self.source, self.stage, box)).relu_()


def tiled_bytes(network: PreparedNetwork, height: int, width: int) -> int:
    """The most memory that `stylise_tiled` takes beside the image: layers, result and one tile."""
    channels, planes = network.architecture.width, 3 * network.statistics.itemsize
    itemsize = network.dtype.itemsize
    # Three layers of the blocks, 4 * channels / 16 each; later one of them, deconv1 and the result.
    layers = max(3 * channels // 4 * itemsize, channels // 2 * itemsize + planes)
    if any(network.architecture.blocks):  # a block's layers at an eighth of the size and less
        layers += channels // 4 * itemsize
    # The image once more, where it is padded.
    multiple = network.architecture.multiple
    changed = height % multiple or width % multiple
    # As many copies of a layer at full resolution as were seen at work at once, with halos.
    at_work = WORKING_COPIES * channels * network.dtype.itemsize * (TILE + 12) ** 2
    return height * width * (layers + (planes if changed else 0)) + at_work


def stylise_tiled(
    network: TransformationNetwork | PreparedNetwork, image: Tensor, *, tile: int = TILE
) -> Tensor:
    """Stylised `image` [3, H, W] in [0, 1], as accurate as one pass; not clamped.

    tile: pixels of a tile's side, rounded up to the architecture's multiple.
    """
    prepared = network if isinstance(network, PreparedNetwork) else PreparedNetwork(network)
    tile += -tile % prepared.architecture.multiple
    height, width = image.shape[-2:]
    with torch.no_grad(), fast.exact_convolutions(prepared.precision):
        padded = padded_to_multiple(image[None], prepared.architecture)
        result = _Run(prepared, tile).stylise(padded)
    return result[:, :height, :width]


@dataclass(frozen=True)
class _Run:
    """One image's way through the network."""

    network: PreparedNetwork
    tile: int

    def stylise(self, image: Tensor) -> Tensor:
        network, tile = self.network, self.tile
        *first, second, third = network.entry
        x: Source = Pixels(image, network)
        for stage in first:
            x = Recomputed(x, stage, self._measured(x, stage, tile))
        x = self._stored(x, second, tile // 2)
        wide = self._stored(x, third, tile // STRIDE)
        del x  # each layer's memory is given back before the next is taken
        wide = self._residual(wide)
        x = self._stored(wide, network.exit[0], tile // 2)
        del wide
        for stage in network.exit[1:]:
            x = Recomputed(x, stage, self._measured(x, stage, tile))
        result = torch.empty(image.shape[1:], dtype=network.statistics, device=image.device)
        for box in _boxes(*_size(x, network.last), tile):
            raw = _convolved(x, network.last, box)
            _view(result[None], box)[:] = network.leave(raw)
        return result

    def _residual(self, wide: Stored) -> Stored:
        """The residual blocks on the layer `wide`, whose memory is overwritten."""
        tile = self.tile // STRIDE
        for box in _boxes(wide.height, wide.width, tile):
            _view(wide.values, box)[:] = wide.read(box)
        x = Stored(wide.values, wide.dtype)
        size = x.values.shape[1], x.height, x.width
        memory = [_memory(*size, self.network) for _ in "yz"]
        for *inner, last in self.network.blocks:
            branch, side = x, tile
            for stage in inner:
                side = side * stage.up // stage.down
                where = memory[0] if (stage.up, stage.down) == (1, 1) else None
                branch = self._stored(branch, stage, side, where)
            branch = self._stored(branch, last, tile, memory[1])
            assert branch.norm is not None
            for box in _boxes(x.height, x.width, tile):
                _view(x.values, box).add_(branch.norm.apply(_view(branch.values, box), x.dtype))
        return x

    def _stored(
        self, source: Source, stage: Stage, tile: int, memory: Tensor | None = None
    ) -> Stored:
        """The stage's result, kept in `memory` or in new memory."""
        height, width = _size(source, stage)
        if memory is None:
            memory = _memory(stage.channels, height, width, self.network)
        norm = self._measured(source, stage, tile, memory)
        return Stored(memory, self.network.dtype, norm)

    def _measured(
        self, source: Source, stage: Stage, tile: int, memory: Tensor | None = None
    ) -> KnownNorm:
        """Convolve tile by tile for the statistics, keeping the result in `memory` if given."""
        assert stage.norm is not None
        moments = Moments()
        for box in _boxes(*_size(source, stage), tile):
            raw = _convolved(source, stage, box)
            if memory is not None:
                _view(memory, box)[:] = raw
            moments.add(raw)
        return moments.known(stage.norm)


def _memory(channels: int, height: int, width: int, network: PreparedNetwork) -> Tensor:
    """[1, C, H, W] of the network's precision, channels last, not initialised.

    On a CPU it is mapped apart from the heap, so that the process gives it back at once.
    """
    dtype = network.dtype
    if network.device.type == "cuda":
        empty = torch.empty(height, width, channels, dtype=dtype, device=network.device)
    else:
        mapped = mmap.mmap(-1, channels * height * width * dtype.itemsize)
        empty = torch.frombuffer(mapped, dtype=dtype).view(height, width, channels)
    return empty.permute(2, 0, 1)[None]


def _convolved(source: Source, stage: Stage, box: Box) -> Tensor:
    """The stage's convolution, not normalised, for one box of its output."""
    rows = _needed(box.top, box.bottom, stage, source.height)
    columns = _needed(box.left, box.right, stage, source.width, stage.spare)
    (top, bottom, above, below), (left, right, before, after) = rows, columns
    x = source.read(Box(top, bottom, left, right))
    return stage.convolve(stage.pad_sides(x, before, after, above, below))


def _needed(
    start: int, stop: int, stage: Stage, length: int, spare: int = 0
) -> tuple[int, int, int, int]:
    """The input's range for an output's, and how much of its halo lies outside at either end."""
    first = start * stage.down // stage.up - stage.before
    last = stop * stage.down // stage.up + stage.after + spare
    inside_first, inside_last = max(first, 0), min(last, length)
    return inside_first, inside_last, inside_first - first, last - inside_last


def _size(source: Source, stage: Stage) -> tuple[int, int]:
    return source.height * stage.up // stage.down, source.width * stage.up // stage.down


def _boxes(height: int, width: int, tile: int) -> Iterator[Box]:
    """Boxes of at most tile x tile that cover the image."""
    for top in range(0, height, tile):
        for left in range(0, width, tile):
            yield Box(top, min(top + tile, height), left, min(left + tile, width))


def _view(values: Tensor, box: Box) -> Tensor:
    return values[..., box.top : box.bottom, box.left : box.right]

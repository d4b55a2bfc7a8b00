"""An image cut into tiles of which a backbone sees exactly what it sees of the whole.

Each position of each layer belongs to one tile, which is read with as much around it as its
positions look at. So what is summed over positions is summed over tiles: Gram matrices, content
losses, total variation, and all their gradients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triptych.style.data.architectures import Architecture, Convolution

if TYPE_CHECKING:
    from torch import Tensor

PIXELS = "pixels"
"""The image itself, among the names of layers."""


@dataclass(frozen=True)
class Stretch:
    """A tile along one axis."""

    read: slice
    """Pixels."""
    owned: dict[str, slice]
    """The tile's positions, by layer."""
    within: dict[str, slice]
    """The tile's positions, counted in what the network makes of the pixels that are read."""


@dataclass(frozen=True)
class Tile:
    """What is read of an image, and which part of each layer then counts."""

    rows: Stretch
    columns: Stretch

    def read(self, images: "Tensor") -> "Tensor":
        """The tile with its surroundings, a view of [N, 3, H, W]."""
        return images[..., self.rows.read, self.columns.read]

    def counted(self, features: "Tensor", layer: str) -> "Tensor":
        """The tile's own positions of what the network made of `read`."""
        return features[..., self.rows.within[layer], self.columns.within[layer]]

    def owned(self, whole: "Tensor", layer: str) -> "Tensor":
        """The tile's own positions of the whole image's layer."""
        return whole[..., self.rows.owned[layer], self.columns.owned[layer]]


@dataclass(frozen=True)
class Level:
    """A layer along one axis: its window on the one below, its positions, pixels from one to the
    next."""

    names: tuple[str, ...]
    kernel: int
    stride: int
    padding: int
    length: int
    reduced: int

    def above(self, names: tuple[str, ...], kernel: int, stride: int, padding: int) -> "Level":
        """A level upon this one."""
        positions = (self.length + 2 * padding - kernel) // stride + 1
        return Level(names, kernel, stride, padding, positions, self.reduced * stride)


@dataclass(frozen=True)
class Tiling:
    """The tiles of an image, and rows and columns of each layer that is read of it."""

    tiles: list[Tile]
    shapes: dict[str, tuple[int, int]]

    @property
    def largest(self) -> tuple[int, int]:
        """Height and width of the largest piece that is read at once."""
        rows = max(tile.rows.read.stop - tile.rows.read.start for tile in self.tiles)
        columns = max(tile.columns.read.stop - tile.columns.read.start for tile in self.tiles)
        return rows, columns


def tiling(
    architecture: Architecture, layers: Sequence[str], height: int, width: int, side: int | None
) -> Tiling:
    """An image cut for these layers into tiles of `side` x `side` pixels, rounded up to a multiple
    of the deepest layer's step; None: all of it as one tile."""
    rows, columns = (levels(architecture, layers, length) for length in (height, width))
    return Tiling(
        [
            Tile(row, column)
            for row in _stretches(rows, side)
            for column in _stretches(columns, side)
        ],
        {
            name: (row.length, column.length)
            for row, column in zip(rows, columns, strict=True)
            for name in row.names
        },
    )


def levels(architecture: Architecture, layers: Sequence[str], length: int) -> list[Level]:
    """The image and the layers above it as far as they are read, along `length` pixels."""
    found = [Level((PIXELS,), 1, 1, 0, length, 1)]
    left = set(layers)
    for layer in architecture.layers:
        if not left:
            break
        names = (layer.name, layer.relu) if isinstance(layer, Convolution) else ()
        padding = layer.padding if isinstance(layer, Convolution) else 0
        found.append(found[-1].above(names, layer.kernel, layer.stride, padding))
        left -= set(names)
    return found


def _stretches(levels: list[Level], side: int | None) -> list[Stretch]:
    deepest = levels[-1]
    wanted = levels[0].length if side is None else side
    # Each tile has a position of the deepest layer: what is left at the end goes with the last.
    cuts = list(
        range(0, deepest.length * deepest.reduced, -(-wanted // deepest.reduced) * deepest.reduced)
    )
    return [
        _stretch(levels, deepest.reduced, *ends)
        for ends in zip(cuts, [*cuts[1:], None], strict=True)
    ]


def _stretch(levels: list[Level], step: int, first: int, last: int | None) -> Stretch:
    """The tile of pixels [first, last), or to the end; reading begins at a multiple of `step`."""
    pixels = levels[0]
    parts = [
        slice(first // level.reduced, level.length if last is None else last // level.reduced)
        for level in levels
    ]
    read = [
        _looked_at(levels, number, part.start, part.stop)
        for number, part in enumerate(parts)
        if levels[number].names
    ]
    start = min(each[0] for each in read) // step * step
    # Total variation compares a pixel with the next one.
    stop = max(min(parts[0].stop + 1, pixels.length), *(each[1] for each in read))
    owned, within = {}, {}
    for level, part in zip(levels, parts, strict=True):
        offset = start // level.reduced
        for name in level.names:
            owned[name] = part
            within[name] = slice(part.start - offset, part.stop - offset)
    return Stretch(slice(start, stop), owned, within)


def _looked_at(levels: list[Level], number: int, start: int, stop: int) -> tuple[int, int]:
    """The pixels that positions [start, stop) of a level look at."""
    for index in range(number, 0, -1):
        level = levels[index]
        start = max(0, start * level.stride - level.padding)
        stop = min(
            levels[index - 1].length, (stop - 1) * level.stride - level.padding + level.kernel
        )
    return start, stop

"""How much memory an image takes while it is optimised."""

import math
from functools import lru_cache

from triptych.style.data.architectures import Architecture
from triptych.style.optimise.presets import Choices
from triptych.style.optimise.tiles import levels, tiling


def images_at_once(
    architecture: Architecture, choices: Choices, height: int, width: int, memory_bytes: float
) -> int:
    """How many images fit into the memory while they are optimised side by side; at least one."""
    each = network_bytes(architecture, choices, height, width) + state_bytes(choices, height, width)
    return max(1, int(min(memory_bytes / each, 2**20)))


@lru_cache(maxsize=64)
def network_bytes(
    architecture: Architecture,
    choices: Choices,
    height: int,
    width: int,
    side: int | None = None,
) -> int:
    """What features take: of the image as one, or of one tile of `side` and the content target.

    Each convolution's and ReLU's output is kept for the backward pass, where the widest layer
    stands a few more times.
    """
    content = 0
    if side is not None:
        cut = tiling(architecture, choices.layers, height, width, side)
        name = choices.content_layer
        content = architecture.channels(name) * math.prod(cut.shapes[name])
        height, width = cut.largest
    rows, columns = (levels(architecture, choices.layers, length) for length in (height, width))
    numbers = [
        architecture.channels(name) * row.length * column.length
        for row, column in zip(rows[1:], columns[1:], strict=True)
        for name in row.names
    ]
    return 4 * (sum(numbers) + 4 * max(numbers) + content)


def state_bytes(choices: Choices, height: int, width: int) -> int:
    """What the optimiser, its history and the images that it moves take."""
    history = 2 * choices.history if choices.optimizer == "lbfgs" else 2
    return 4 * (history + 8) * 3 * height * width

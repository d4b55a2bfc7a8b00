"""How large an image can be optimised in the memory that there is."""

import itertools
from dataclasses import dataclass

from triptych.core.errors import InputError
from triptych.style.data.architectures import Architecture
from triptych.style.data.image_files import shape_along
from triptych.style.network.memory import readable
from triptych.style.optimise.memory import network_bytes, state_bytes
from triptych.style.optimise.presets import Choices
from triptych.style.optimise.tiles import levels

OVERHEAD, FIXED = 1.3, 64e6
"""What a process takes beside `network_bytes`: a factor for holes in the heap and PyTorch's own
copies in another layout, and bytes. Up to 1.21 and 46e6 were seen, with 256 to 960 pixels."""
STATE_OVERHEAD = 1.3
"""Of the optimiser: features of tiles leave holes too small for its tensors."""

PLANES = 14
"""Planes of float32 that reading an image, keeping its colours or writing it take at their peak,
the photograph's own three and the result's included."""
KEPT_PLANES = 4
"""Those of the photograph and its opacity, which wait while an image is optimised."""

Size = tuple[int, int]


SIDES = (1024, 512, 256)
"""Pixels of a tile. Around each as much is computed besides as its layers look at: of VGG-16
66 pixels, which is half the work again at 512, and at 256 more than the tile itself."""


@dataclass(frozen=True)
class Needs:
    """What decides how much memory is taken: the network, the choices, and the painting's size.

    stroke: the painting's shorter side against the image's
    """

    architecture: Architecture
    choices: Choices
    painting: Size
    stroke: float = 1.0

    @property
    def least(self) -> int:
        """Pixels that a side must have so that the deepest layer sees something."""
        return smallest_side(self.architecture, self.choices)

    def bytes(self, size: Size, side: int | None) -> float:
        """What an image takes to be optimised, in tiles of `side` pixels or (None) as one, beside
        the painting."""
        plane = 4.0 * size[0] * size[1]
        painting = shape_along(*self.painting, max(1, round(self.stroke * min(size))))
        sizes = (self.architecture, self.choices)
        network = max(network_bytes(*sizes, *each, side) for each in (size, painting))
        state = max(state_bytes(self.choices, *size), 12.0 * painting[0] * painting[1])
        at_work = OVERHEAD * network + STATE_OVERHEAD * state
        return max(PLANES * plane, KEPT_PLANES * plane + at_work + FIXED)

    def side(self, size: Size, memory_bytes: float) -> int | None:
        """Of the largest tiles that fit the memory; None: the whole image. Raises InputError where
        none fit."""
        for side in (None, *SIDES):
            if self.bytes(size, side) <= memory_bytes:
                return side
        raise InputError(
            f"{told(size)} pixels take {readable(self.bytes(size, SIDES[-1]))} even in tiles, and "
            f"{readable(memory_bytes)} may be used: give more --memory, or a smaller --size"
        )

    def check(self, size: Size, what: str) -> None:
        """Raise InputError for an image of which the deepest layer would see nothing."""
        if min(size) < self.least:
            raise InputError(
                f"{what} of {told(size)} pixels; --optimize expects at least {self.least} along "
                f"both sides, since {self.architecture.name} sees nothing in less. Take a larger "
                "one."
            )


def smallest_side(architecture: Architecture, choices: Choices) -> int:
    """Pixels that a side must have so that every layer which is read has a position."""
    return next(
        side
        for side in itertools.count(1)
        if min(level.length for level in levels(architecture, choices.layers, side)) > 0
    )


def told(size: Size) -> str:
    """As people write it, the width first."""
    return f"{size[1]}x{size[0]}"

"""How large an image can be optimised in the memory that there is."""

from dataclasses import dataclass

from triptych.core.errors import InputError
from triptych.style.backbones.architectures import ORIENTED, Architecture, Convolution
from triptych.style.feedforward.memory import readable
from triptych.style.images import shape_along
from triptych.style.optimisation.memory import bytes_an_image
from triptych.style.optimisation.presets import Choices

OVERHEAD, FIXED = 1.3, 64e6
"""What a process takes beside `bytes_an_image`: a factor for holes in the heap and PyTorch's own
copies in another layout, and bytes. Up to 1.21 and 46e6 were seen, with 256 to 960 pixels."""

LARGE_PLANES = 14
"""Planes of float32 that enlarging an image, keeping its colours or writing it take at their peak,
the photograph's own three and the result's included."""
KEPT_PLANES = 4
"""Those of the photograph and its opacity, which wait while an image is optimised."""

LEAST = 64
"""Pixels along the shorter side, beneath which nothing worth enlarging comes out."""

Size = tuple[int, int]


@dataclass(frozen=True)
class MemoryPlan:
    """The size at which an image is optimised, and the bytes that it takes all in all."""

    size: Size
    bytes: float


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

    def bytes(self, large: Size, small: Size) -> float:
        """What an image of `large` takes that is optimised at `small`, beside the painting."""
        plane = 4.0 * large[0] * large[1]
        painting = shape_along(*self.painting, max(1, round(self.stroke * min(small))))
        largest = max(
            bytes_an_image(self.architecture, self.choices, *size) for size in (small, painting)
        )
        return max(LARGE_PLANES * plane, KEPT_PLANES * plane + OVERHEAD * largest + FIXED)

    def plan(self, size: Size, memory_bytes: float, *, enlarge: bool) -> MemoryPlan:
        """The size itself where it fits, or else, to be enlarged, the largest one that does.

        Raises InputError where neither does, or where it may not be enlarged.
        """
        if (needed := self.bytes(size, size)) <= memory_bytes:
            return MemoryPlan(size, needed)
        refusal = (
            f"{told(size)} pixels take {readable(needed)} to be optimised, and "
            f"{readable(memory_bytes)} may be used"
        )
        # Each pixel more takes more: the largest shorter side that fits, by bisection.
        least = min(LEAST, *size)
        fits, too_large = least - 1, min(size)
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            if self.bytes(size, shape_along(*size, middle)) <= memory_bytes:
                fits = middle
            else:
                too_large = middle
        if fits < least:
            raise InputError(
                f"{refusal}: too little even for {told(shape_along(*size, least))}, to be enlarged "
                "afterwards. Give it more memory (--memory), or make it smaller (--size)."
            )
        largest = shape_along(*size, fits)
        if not enlarge:
            raise InputError(
                f"{refusal}. Give it more memory (--memory), or --size {fits}, or let it be "
                f"optimised at {told(largest)} pixels and enlarged (--on-large enlarge)."
            )
        return MemoryPlan(largest, self.bytes(size, largest))

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
    halvings = [level for level, name in enumerate(ORIENTED) if name in choices.layers]
    side = 2 ** max(halvings, default=0)
    while _positions(architecture, choices, side) < 1:
        side += 1
    return side


def _positions(architecture: Architecture, choices: Choices, side: int) -> int:
    """Positions along a side of the deepest layer that is read; less than 1 is none."""
    left = set(choices.layers) - set(ORIENTED)
    for layer in architecture.layers:
        padding = layer.padding if isinstance(layer, Convolution) else 0
        side = (side + 2 * padding - layer.kernel) // layer.stride + 1
        if side < 1:
            return 0
        if isinstance(layer, Convolution):
            left -= {layer.name, layer.relu}
            if not left:
                break
    return side


def told(size: Size) -> str:
    """As people write it, the width first."""
    return f"{size[1]}x{size[0]}"

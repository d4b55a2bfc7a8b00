"""Settings that determine a transformation network's shape. No PyTorch."""

from dataclasses import dataclass
from typing import Literal

from triptych.core.errors import InputError

Upsampling = Literal["transposed", "nearest"]

STRIDE = 4
"""Two convolutions of stride 2: the residual blocks work on a quarter of the height and width."""

SMALLEST = 16
"""Pixels; below this the reflection in the 9x9 convolutions and the blocks has no room."""


@dataclass(frozen=True)
class Architecture:
    """Settings that determine the network's shape.

    `width` is the channels of the first layer; the others are 2 and 4 times as many. `upsampling`
    is the paper's transposed convolution 3x3 of stride 2 or, as in pytorch/examples, nearest
    neighbours x2 and a 3x3 convolution. `blocks` says of each residual block how often its branch
    halves the size and doubles it again, which none of the paper's does. `palette`: see Palette. A
    `halved` network has no layer at full size, which takes a third of the time: its first one
    halves, and its last one makes four pixels of each place. A network of several `styles` is
    conditional (Dumoulin, Shlens and Kudlur 2017): they share the convolutions, and each has scales
    and shifts of the norms, and a palette, of its own.
    """

    width: int = 32
    upsampling: Upsampling = "transposed"
    blocks: tuple[int, ...] = (0,) * 5
    palette: bool = False
    styles: int = 1
    halved: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))  # a file or a config has a list
        if min(self.width, self.styles) < 1 or min(*self.blocks, 0) < 0:
            raise InputError(f"{self}; expected width and styles of at least 1, the others of 0")

    @property
    def multiple(self) -> int:
        """Height and width inside are multiples of this, in pixels."""
        return STRIDE << max(self.blocks, default=0)

    @property
    def smallest(self) -> int:
        """The least side of an image, in pixels: reflection and norms need two positions."""
        return max(SMALLEST, 2 * self.multiple)

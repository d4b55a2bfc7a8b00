"""Generated "paintings", which may be shipped since nobody else's hand is in them.

Each has strokes of 5 to 40 pixels at 512: a night sky of brush strokes ("swirls"), a woodcut of
breakers ("waves"), a mosaic of flowers ("mosaic") and mountains in ink ("ink").
"""

from collections.abc import Callable

import cv2
import numpy as np

from makers.paintings.canvas import Canvas
from makers.paintings.ink import paint_ink
from makers.paintings.mosaic import paint_mosaic
from makers.paintings.swirls import paint_swirls
from makers.paintings.waves import paint_waves

PAINTINGS: dict[str, Callable[[Canvas, np.random.Generator], None]] = {
    "swirls": paint_swirls,
    "waves": paint_waves,
    "mosaic": paint_mosaic,
    "ink": paint_ink,
}


def paint(name: str, size: tuple[int, int], seed: int) -> np.ndarray:
    """The painting `name` as float32 [H, W, 3], RGB in [0, 1].

    size: (height, width) in pixels. A seed gives the same picture at every size of one shape, and
    the same bytes whenever it is painted at one.
    """
    height, width = size
    canvas = Canvas.for_size((height, width))
    # The name is part of the key: no two styles share their random numbers.
    generator = np.random.default_rng([seed, *name.encode()])
    PAINTINGS[name](canvas, generator)
    pixels = cv2.resize(
        canvas.pixels.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA
    )
    return np.clip(pixels / np.float32(255), 0, 1)

"""Generated "paintings", which may be shipped since nobody else's hand is in them.

Each is a picture of its own, with strokes of 5 to 40 pixels at 512: a night sky of brush strokes
("swirls"), a woodcut of breakers ("waves"), a mosaic of flowers ("mosaic"), a shore in dots
("dots"), mountains in ink ("ink"), a window of stained glass ("glass"), an engraved landscape
("hatching") and marbled paper ("marbling").
"""

from collections.abc import Callable

import cv2
import numpy as np

from makers.paintings.canvas import Canvas
from makers.paintings.glass import paint_glass
from makers.paintings.hatching import paint_hatching
from makers.paintings.ink import paint_ink
from makers.paintings.marbling import paint_marbling
from makers.paintings.mosaic import paint_mosaic
from makers.paintings.pointillism import paint_dots
from makers.paintings.swirls import paint_swirls
from makers.paintings.waves import paint_waves

PAINTINGS: dict[str, Callable[[Canvas, np.random.Generator], None]] = {
    "swirls": paint_swirls,
    "waves": paint_waves,
    "mosaic": paint_mosaic,
    "dots": paint_dots,
    "ink": paint_ink,
    "glass": paint_glass,
    "hatching": paint_hatching,
    "marbling": paint_marbling,
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

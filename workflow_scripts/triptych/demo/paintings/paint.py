"""Generated "paintings": eight hands that may be shipped, since the workflow paints them itself.

Each is a picture of its own, with strokes of 5 to 40 pixels at 512: a night sky of brush strokes
("swirls"), a woodcut of breakers ("waves"), a mosaic of flowers ("mosaic"), a shore in dots
("dots"), mountains in ink ("ink"), a window of stained glass ("glass"), an engraved landscape
("hatching") and marbled paper ("marbling").
"""

from collections.abc import Callable

import cv2
import numpy as np

from triptych.core.errors import InputError
from triptych.demo.paintings.canvas import Canvas
from triptych.demo.paintings.glass import paint_glass
from triptych.demo.paintings.hatching import paint_hatching
from triptych.demo.paintings.ink import paint_ink
from triptych.demo.paintings.marbling import paint_marbling
from triptych.demo.paintings.mosaic import paint_mosaic
from triptych.demo.paintings.pointillism import paint_dots
from triptych.demo.paintings.swirls import paint_swirls
from triptych.demo.paintings.waves import paint_waves

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

SMALLEST, LONGEST_RATIO = 16, 4


def paint(name: str, size: tuple[int, int], seed: int) -> np.ndarray:
    """The painting `name` as float32 [H, W, 3], RGB in [0, 1].

    size: (height, width) in pixels, at least 16, one at most 4 times the other. A seed gives the
    same picture at every size of one shape, and the same bytes whenever it is painted at one.
    """
    if name not in PAINTINGS:
        raise InputError(f"there is no painting {name!r}; choose one of {', '.join(PAINTINGS)}")
    height, width = size
    if min(size) < SMALLEST or max(size) > LONGEST_RATIO * min(size):
        raise InputError(
            f"a painting of {height} x {width} pixels cannot be made: give a height and a width "
            f"of at least {SMALLEST}, one at most {LONGEST_RATIO} times the other"
        )
    canvas = Canvas.for_size((height, width))
    # The name is part of the key: no two styles share their random numbers.
    generator = np.random.default_rng([seed, *name.encode()])
    PAINTINGS[name](canvas, generator)
    pixels = cv2.resize(
        canvas.pixels.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA
    )
    return np.clip(pixels / np.float32(255), 0, 1)

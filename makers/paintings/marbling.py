"""Marbled paper: drops of ink on a bath, combed into feathers (Lu et al. 2012, "Mathematical
marbling").

Each pixel is followed backwards through the combs and the drops to the ink that it came from.
"""

from dataclasses import dataclass

import numpy as np

from makers.paintings.canvas import Canvas, smooth_noise

INKS = np.array(
    [
        (24, 38, 84),
        (178, 34, 48),
        (240, 232, 214),
        (30, 108, 120),
        (232, 164, 60),
        (86, 26, 62),
        (240, 232, 214),
        (16, 18, 28),
    ],
    float,
)
BATH = np.array((226, 206, 178), float)
DROPS, LARGEST = 150, 62.0
"""Drops of ink, and the radius of the first in units"""
SHARPNESS = 12.0
"""Units beside a tine at which ink moves half as far as at it"""


@dataclass(frozen=True)
class Comb:
    """Tines drawn through the bath side by side."""

    angle: float
    """Radians: where they go"""
    apart: float
    shift: float
    """Units between two tines, and that ink at one is carried along"""
    start: float
    alternate: bool
    """Whether every second tine goes back"""


def paint_marbling(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    height, width = canvas.pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    points = (np.stack((x, y), -1) + 0.5) / canvas.scale
    for comb in reversed(_combs(generator)):
        points = points - _carried(comb, points)
    colours = _inks(canvas, generator, points.reshape(-1, 2))
    canvas.pixels[:] = np.rint(np.clip(colours.reshape(height, width, 3), 0, 255))
    size = round(canvas.height), round(canvas.width)
    canvas.lighten(5 * smooth_noise(generator, size, 3) + 4 * smooth_noise(generator, size, 40))


def _combs(generator: np.random.Generator) -> list[Comb]:
    """First there and back down the sheet, then across it, then a swaying stylus."""
    starts = generator.uniform(0, 60, 3)
    return [
        Comb(np.pi / 2, 64, 90, starts[0], True),
        Comb(0.04, 34, 46, starts[1], False),
        Comb(np.pi / 2 + 0.05, 96, 60, starts[2], True),
    ]


def _carried(comb: Comb, points: np.ndarray) -> np.ndarray:
    """How far ink that has come to these points was carried, [..., 2] units."""
    along = np.array((np.cos(comb.angle), np.sin(comb.angle)), np.float32)
    across = points @ np.array((-along[1], along[0]), np.float32) - comb.start
    tine = np.round(across / comb.apart)
    beside = np.abs(across - tine * comb.apart)
    moved = comb.shift * np.exp2(-beside / SHARPNESS)
    if comb.alternate:
        moved = np.where(tine % 2 == 0, moved, -moved)
    return moved[..., None] * along


def _inks(canvas: Canvas, generator: np.random.Generator, points: np.ndarray) -> np.ndarray:
    """Colours [n, 3] of points [n, 2] in the bath before it was combed.

    A drop of radius r pushes the ink around its middle outwards, by areas.
    """
    middles = generator.uniform(-0.1, 1.1, (DROPS, 2)) * (canvas.width, canvas.height)
    radii = LARGEST * generator.uniform(0.35, 1, DROPS) * np.linspace(1, 0.55, DROPS)
    chosen = np.arange(DROPS) % len(INKS)
    colours = np.broadcast_to(BATH, (len(points), 3)).copy()
    places, waiting = points.astype(np.float64), np.arange(len(points))
    for number in reversed(range(DROPS)):
        offset = places - middles[number]
        square = np.square(offset).sum(1)
        inside = square < radii[number] ** 2
        colours[waiting[inside]] = INKS[chosen[number]]
        left = ~inside
        shrink = np.sqrt(1 - radii[number] ** 2 / square[left])
        places = middles[number] + offset[left] * shrink[:, None]
        waiting = waiting[left]
    return colours

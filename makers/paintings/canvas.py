"""What the generated paintings are painted with: a canvas measured in units, strokes, smooth noise.

A unit is 1/512 of the painting's shorter side. All positions, widths and random numbers are in
units, so that one seed gives one picture at every size. Points are [..., 2] arrays of (x, y),
y downwards; colours are RGB in [0, 255].
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

UNITS = 512
"""Units along the shorter side."""

OVERSAMPLING = 2
"""Canvas pixels for each pixel of the painting, in each direction: edges come out smooth."""

LEAST_SCALE = 1.0
"""Pixels for each unit below which lines of one pixel would be too broad."""

REMAPPED_AT_ONCE = 32_000
"""cv2.remap takes fewer than 2^15 columns."""

_SHIFT = 4  # fractional bits of the coordinates that cv2 draws with

Rgb = Sequence[float] | np.ndarray


@dataclass
class Canvas:
    """Pixels to draw on; `height` and `width` in units."""

    height: float
    width: float
    scale: float
    """Pixels for each unit."""
    ground: Rgb = (0, 0, 0)
    pixels: np.ndarray = field(init=False)
    """uint8 [H, W, 3]"""

    def __post_init__(self) -> None:
        shape = (round(self.height * self.scale), round(self.width * self.scale), 3)
        self.pixels = np.empty(shape, np.uint8)
        self.pixels[:] = np.asarray(self.ground)

    @classmethod
    def for_size(cls, size: tuple[int, int]) -> "Canvas":
        """A canvas for a painting of `size` pixels (height, width)."""
        height, width = size
        shorter = min(size)
        scale = max(OVERSAMPLING * shorter / UNITS, LEAST_SCALE)
        return cls(height * UNITS / shorter, width * UNITS / shorter, scale)

    def fixed(self, points: np.ndarray) -> np.ndarray:
        """Points [..., 2] in units as the whole numbers (1/16 pixel) that cv2 draws with."""
        return np.round((np.asarray(points) * self.scale - 0.5) * (1 << _SHIFT)).astype(np.int32)

    def fill(self, polygon: np.ndarray, colour: Rgb) -> None:
        """Fill a closed polygon [n, 2]."""
        self.fill_fixed(self.fixed(polygon), rgb_tuple(colour))

    def fill_fixed(self, polygon: np.ndarray, colour: Sequence[float]) -> None:
        """Fill a polygon that is `fixed` already."""
        # cv2 writes the channels in the order given: the canvas stays RGB.
        cv2.fillPoly(self.pixels, [polygon], colour, cv2.LINE_8, _SHIFT)

    def line(self, points: np.ndarray, colour: Rgb, width: float, closed: bool = False) -> None:
        """Draw a polyline [n, 2] of one width, in units."""
        self.line_fixed(self.fixed(points), rgb_tuple(colour), width, closed)

    def line_fixed(
        self, points: np.ndarray, colour: Sequence[float], width: float, closed: bool = False
    ) -> None:
        """Draw a polyline that is `fixed` already; its width in units."""
        thickness = max(1, round(width * self.scale))
        cv2.polylines(self.pixels, [points], closed, colour, thickness, cv2.LINE_8, _SHIFT)

    def disc(self, centre: np.ndarray, radius: float, colour: Rgb) -> None:
        """Fill a circle; radius in units."""
        reach = round(radius * self.scale * (1 << _SHIFT))
        at = self.fixed(centre).tolist()
        cv2.circle(self.pixels, at, reach, rgb_tuple(colour), -1, cv2.LINE_8, _SHIFT)

    def cover(self, image: np.ndarray) -> None:
        """Replace all pixels by an image [h, w, 3], stretched to the canvas."""
        stretched = cv2.resize(image, self.pixels.shape[1::-1], interpolation=cv2.INTER_LINEAR)
        self.pixels[:] = np.rint(np.clip(stretched, 0, 255))

    def lighten(self, shade: np.ndarray) -> None:
        """Add a shade [h, w] in grey levels to all channels, stretched to the canvas."""
        size = self.pixels.shape[1::-1]
        stretched = cv2.resize(shade.astype(np.float32), size, interpolation=cv2.INTER_LINEAR)
        self.pixels[:] = np.rint(np.clip(self.pixels + stretched[..., None], 0, 255))


def rgb_tuple(colour: Rgb) -> tuple[float, ...]:
    """Three channels within [0, 255], as cv2 takes them."""
    return tuple(np.clip(colour, 0, 255).tolist())


def unit_grid(height: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """x and y [H, W] of the middles of cells of one unit."""
    rows, columns = round(height), round(width)
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    return x, y


def smooth_noise(
    generator: np.random.Generator, shape: tuple[int, int], length: float
) -> np.ndarray:
    """Standardised noise [H, W] that varies over `length` cells."""
    coarse = (int(np.ceil(shape[0] / length)) + 3, int(np.ceil(shape[1] / length)) + 3)
    values = generator.standard_normal(coarse).astype(np.float32)
    scaled = (round(coarse[1] * length), round(coarse[0] * length))
    fine = cv2.resize(values, scaled, interpolation=cv2.INTER_CUBIC)[: shape[0], : shape[1]]
    return (fine - fine.mean()) / fine.std()


def sample(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Values [..., C] of a field [H, W, C] or [H, W] at points [..., 2] in cells, bilinear."""
    values = field.astype(np.float32, copy=False)
    places = points.reshape(-1, 2).astype(np.float32) - np.float32(0.5)
    parts = [
        cv2.remap(
            values,
            part[None, :, 0],
            part[None, :, 1],
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        for part in np.array_split(places, -(-len(places) // REMAPPED_AT_ONCE))
    ]
    return np.concatenate(parts, axis=1).reshape(*points.shape[:-1], *field.shape[2:])


def palette(colours: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Colours [..., 3] at positions in [0, 1] along a row of colours [n, 3], interpolated."""
    stops = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(positions, stops, colours[:, c]) for c in range(3)], axis=-1)


def smoothstep(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """0 below `low`, 1 above `high`, a cubic between."""
    t = np.clip((values - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


STEP = 2.0
"""Cells from one point of a flow line to the next, in line integrals"""


def line_integral(texture: np.ndarray, flow: np.ndarray, reach: int) -> np.ndarray:
    """Sums [H, W] of a texture along the flow line through each cell.

    Over points STEP apart, up to `reach` cells either way and the cell itself.
    """
    x, y = unit_grid(*texture.shape)
    texture, flow = texture.astype(np.float32), flow.astype(np.float32)
    total = texture.astype(np.float64)
    for way in (STEP, -STEP):
        points = np.stack((x, y), axis=-1)
        for _ in range(int(reach / STEP)):
            points = points + way * sample(flow, points)
            total += sample(texture, points)
    return total


def trace(flow: np.ndarray, starts: np.ndarray, lengths: np.ndarray, steps: int) -> np.ndarray:
    """Flow lines [n, steps + 1, 2] through the middle of each, by midpoint steps.

    starts: [n, 2] in cells; lengths: [n] of the whole lines.
    """
    halves = []
    step = (lengths / steps)[:, None]
    for sign in (-1, 1):
        points, line = starts, []
        for _ in range(steps // 2):
            middle = points + 0.5 * sign * step * sample(flow, points)
            points = points + sign * step * sample(flow, middle)
            line.append(points)
        halves.append(line)
    return np.stack((*halves[0][::-1], starts, *halves[1]), axis=1)

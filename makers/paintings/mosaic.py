"""A mosaic of warm tiles: sunflowers whose tiles run in rings, and rows that flow around them.

Tiles are the cells of a centroidal Voronoi diagram whose distance is a square's, turned along the
picture's curves in each tile: Hausner, "Simulating decorative mosaics", SIGGRAPH 2001.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial import cKDTree

from makers.paintings.canvas import Canvas, sample, smooth_noise, unit_grid

TILE = 14.0
"""Units from tile to tile, in a row and across."""

GROUT = 1.25
"""Half the width of the joint between two tiles, in units."""

GROUT_COLOUR = np.array((38, 24, 26), float)
CELL = 2.0
"""Units between the points whose means move the tiles' middles"""

CANDIDATES = 9
"""Tiles near a point that it may belong to"""

ROUNDS = 14
"""How often the tiles' middles are moved"""

ROWS = np.array(
    [
        (140, 20, 42),
        (200, 30, 34),
        (226, 70, 26),
        (240, 122, 28),
        (250, 176, 44),
        (252, 214, 104),
        (254, 238, 190),
        (30, 140, 146),
        (16, 84, 116),
        (254, 238, 190),
        (250, 190, 60),
        (236, 108, 26),
        (206, 40, 34),
    ],
    float,
)
"""Colours of the rows around the flowers, from the innermost"""

FLOWERS = np.array(
    [
        # core, ring, petal, between the petals, rim
        [(92, 34, 24), (255, 208, 60), (250, 240, 214), (22, 122, 140), (14, 72, 110)],
        [(255, 214, 84), (168, 24, 40), (32, 158, 158), (252, 226, 150), (110, 18, 60)],
        [(30, 96, 128), (252, 190, 50), (206, 42, 70), (250, 226, 160), (26, 120, 98)],
        [(250, 236, 196), (232, 92, 28), (62, 140, 76), (254, 200, 72), (150, 30, 36)],
    ],
    float,
)


@dataclass(frozen=True)
class Tiles:
    """Tiles and the pixels that they own."""

    seeds: np.ndarray
    """Middles [n, 2], in units"""
    angles: np.ndarray
    """[n] radians: the row's direction"""
    nearest: np.ndarray
    """[H, W] index of the tile that a pixel belongs to"""
    margin: np.ndarray
    """[H, W] how far a pixel is from the next tile, in units"""


@dataclass(frozen=True)
class Design:
    """What the tiles show, in cells of one unit."""

    direction: np.ndarray
    """[H, W, 2] unit vectors along the rows"""
    level: np.ndarray
    """[H, W] row number, continuous: rows are its whole numbers"""
    colours: np.ndarray
    """[H, W, 3]"""


def design(generator: np.random.Generator, height: float, width: float) -> Design:
    """Flowers in a field of rows that bend around them."""
    x, y = unit_grid(height, width)
    flowers = _flowers(generator, height, width)
    softness = 1.4 * TILE
    total = sum(np.exp(-(np.hypot(x - f[0], y - f[1]) - f[2]) / softness) for f in flowers)
    distance = -softness * np.log(total)
    # Rings near the flowers, waves farther out.
    waves = 1.1 * TILE * smooth_noise(generator, x.shape, 90)
    distance = distance + waves * np.clip(distance / 60, 0, 1)
    level = distance / TILE
    direction = _along(distance)
    colours = ROWS[np.floor(level).astype(int) % len(ROWS)]
    for cx, cy, radius, petals, turn, kind in flowers:
        dx, dy = x - cx, y - cy
        distance = np.hypot(dx, dy)
        inside = distance < radius
        part = _petal_parts(distance / radius, np.arctan2(dy, dx), petals, turn)
        level = np.where(inside, (distance - radius) / TILE, level)
        colours = np.where(inside[..., None], FLOWERS[kind][part], colours)
        ring = np.stack((-dy, dx), axis=-1) / (distance[..., None] + 1e-6)
        direction = np.where(inside[..., None], ring, direction)
    return Design(direction, level, colours)


def _along(field: np.ndarray) -> np.ndarray:
    """Unit vectors [H, W, 2] along the contours of a field [H, W]."""
    down, right = np.gradient(cv2.GaussianBlur(field, (0, 0), 3))
    vectors = np.stack((-down, right), axis=-1)
    return vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-6)


def _petal_parts(radius: np.ndarray, angle: np.ndarray, petals: int, turn: float) -> np.ndarray:
    """Which of a flower's five colours; radius in [0, 1]."""
    petal = np.abs(((angle + turn) * petals / (2 * np.pi)) % 1 - 0.5) * 2
    tip = 0.38 + 0.5 * (1 - petal**1.3)
    part = np.where(radius < tip, 2, 3)
    part[radius < 0.36] = 1
    part[radius < 0.22] = 0
    part[radius > 0.88] = 4
    return part


def _flowers(
    generator: np.random.Generator, height: float, width: float
) -> list[tuple[float, float, float, int, float, int]]:
    """x, y, radius, petals, turn, kind; a large one first, none touches another."""
    kinds = generator.permutation(len(FLOWERS))
    found: list[tuple[float, float, float, int, float, int]] = []
    for attempt in range(600):
        radius = TILE * (8 if not found else int(generator.integers(4, 7)))
        cx = generator.uniform(-0.05, 1.05) * width
        cy = generator.uniform(-0.05, 1.05) * height
        if not found:
            cx = width * (0.36 + 0.1 * generator.random())
            cy = height * (0.4 + 0.12 * generator.random())
        if all(np.hypot(cx - f[0], cy - f[1]) > radius + f[2] + 3.2 * TILE for f in found):
            petals = round(5 + radius / 20)
            turn = generator.uniform(0, 2 * np.pi)
            kind = int(kinds[len(found) % len(kinds)])
            found.append((float(cx), float(cy), radius, petals, turn, kind))
        if attempt > 60 and len(found) >= 5 * width * height / 512**2:
            break
    return found


def lay_tiles(
    generator: np.random.Generator, plan: Design, height: float, width: float, scale: float
) -> Tiles:
    """Tiles along the rows of a design, on a canvas of `scale` pixels a unit."""
    across = np.arange(-TILE, width + TILE, TILE)
    down = np.arange(-TILE, height + TILE, TILE)
    seeds = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    seeds = seeds + generator.uniform(-0.5, 0.5, seeds.shape) * TILE
    x, y = unit_grid(height / CELL + TILE, width / CELL + TILE)
    cells = CELL * np.stack((x, y), axis=-1).reshape(-1, 2) - 0.5 * CELL * TILE
    for _ in range(ROUNDS):
        owner, _ = _nearest(seeds, _angles(plan.direction, seeds), cells)
        count = np.bincount(owner, minlength=len(seeds))
        sums = [np.bincount(owner, cells[:, axis], len(seeds)) for axis in (0, 1)]
        middles = np.stack(sums, axis=-1) / np.maximum(count, 1)[:, None]
        seeds = np.where(count[:, None] > 0, middles, seeds)
        seeds = seeds + 0.5 * _to_row(plan, seeds)
    angles = _angles(plan.direction, seeds)
    rows, columns = round(height * scale), round(width * scale)
    y, x = (np.mgrid[0:rows, 0:columns] + 0.5) / scale
    owner, margin = _nearest(seeds, angles, np.stack((x, y), axis=-1).reshape(-1, 2))
    return Tiles(seeds, angles, owner.reshape(rows, columns), margin.reshape(rows, columns))


def _to_row(plan: Design, seeds: np.ndarray) -> np.ndarray:
    """Steps [n, 2] from the seeds to the middle of the row that each lies in."""
    along = sample(plan.direction, seeds)
    level = sample(plan.level, seeds)
    step = (np.floor(level) + 0.5 - level) * TILE
    return step[:, None] * np.stack((along[:, 1], -along[:, 0]), axis=-1)


def _angles(direction: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    vectors = sample(direction, seeds)
    return np.arctan2(vectors[:, 1], vectors[:, 0])


def _nearest(
    seeds: np.ndarray, angles: np.ndarray, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The tile [p] of each point [p, 2], and by how much the next one is farther, halved.

    Distances are max(|along|, |across|) in the frame of each tile, whose unit circle is a square.
    """
    # Neighbours of a coarse cell serve all points in it: the tree is asked seldom.
    coarse = np.round(points / 2).astype(np.int64)
    keys, place = np.unique(
        (coarse[:, 1] + 100) * 100_003 + coarse[:, 0] + 100, return_inverse=True
    )
    middles = 2.0 * np.stack((keys % 100_003 - 100, keys // 100_003 - 100), axis=-1)
    _, near = cKDTree(seeds).query(middles, k=CANDIDATES)
    best = np.full(len(points), np.inf, np.float32)
    second = np.full(len(points), np.inf, np.float32)
    owner = np.zeros(len(points), np.int64)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    x, y = points.astype(np.float32).T
    sx, sy = seeds.astype(np.float32).T
    for k in range(CANDIDATES):
        index = near[place, k]
        dx, dy = x - sx[index], y - sy[index]
        c, s = cosines[index], sines[index]
        distance = np.maximum(np.abs(c * dx + s * dy), np.abs(c * dy - s * dx))
        nearer = distance < best
        second = np.where(nearer, best, np.minimum(second, distance))
        owner = np.where(nearer, index, owner)
        best = np.where(nearer, distance, best)
    return owner, 0.5 * (second - best)


def paint_mosaic(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    plan = design(generator, canvas.height, canvas.width)
    tiles = lay_tiles(generator, plan, canvas.height, canvas.width, canvas.scale)
    count = len(tiles.seeds)
    column, row = np.clip(tiles.seeds.astype(int).T, 0, np.array(plan.level.shape)[::-1, None] - 1)
    colours = plan.colours[row, column]
    colours = colours * generator.normal(1, 0.09, (count, 1)) + generator.normal(0, 7, (count, 3))
    image = colours[tiles.nearest]
    # Each tile lies a little askew and catches the light differently.
    shine = generator.normal(0, 1, (count, 2)) * 1.1
    rows, columns = tiles.nearest.shape
    y, x = (np.mgrid[0:rows, 0:columns] + 0.5) / canvas.scale
    offset = np.stack((x, y), axis=-1) - tiles.seeds[tiles.nearest]
    image = image + (offset * shine[tiles.nearest]).sum(axis=-1, keepdims=True)
    bevel = np.clip((tiles.margin - GROUT) / 1.2, 0, 1)
    lit = (offset * np.array((-0.707, -0.707))).sum(axis=-1) / TILE
    image = image + ((1 - bevel) * lit * 70)[..., None]
    body = np.clip((tiles.margin - GROUT) * canvas.scale + 0.5, 0, 1)[..., None]
    canvas.cover(GROUT_COLOUR + (image - GROUT_COLOUR) * body)

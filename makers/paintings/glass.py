"""A stained-glass window: panes of deep colour between lines of lead, light behind them.

Panes are the cells of a Voronoi diagram whose points lie in rings around a rose and in rows
beside it; each pane has streaks, and is brighter where the sun stands behind it.
"""

import numpy as np
from scipy.spatial import cKDTree

from makers.paintings.canvas import Canvas, smooth_noise, smoothstep

LEAD = np.array((18, 16, 22), float)
RUBY, COBALT, GOLD = (190, 24, 44), (22, 52, 158), (246, 186, 40)
EMERALD, AMETHYST, SKY = (14, 122, 78), (112, 40, 138), (96, 178, 222)
RINGS = (
    # units from the middle, panes, colours in turn
    (0.0, 1, (GOLD,)),
    (30.0, 8, (RUBY, GOLD)),
    (66.0, 12, (COBALT, SKY)),
    (106.0, 24, (RUBY, AMETHYST, GOLD)),
    (150.0, 24, (COBALT, EMERALD)),
    (196.0, 36, (SKY, COBALT, RUBY)),
)
FIELD = (COBALT, EMERALD, AMETHYST, SKY, COBALT, RUBY)
ROSE, APART, LEAD_WIDTH = 222.0, 44.0, 3.4
"""Units: the rose's radius, from pane to pane outside of it, half a line of lead"""


def paint_glass(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    height, width = canvas.pixels.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    pixels = ((np.stack((x, y), -1) + 0.5) / canvas.scale).reshape(-1, 2)
    points, colours = _panes(canvas, generator)
    distances, nearest = cKDTree(points).query(pixels, k=2, workers=1)
    first, second = points[nearest[:, 0]], points[nearest[:, 1]]
    # From the line between two panes, which lies halfway.
    gap = (distances[:, 1] ** 2 - distances[:, 0] ** 2) / (
        2 * np.linalg.norm(second - first, axis=1)
    )
    size = round(canvas.height), round(canvas.width)
    streaks = _stretched(canvas, smooth_noise(generator, size, 5)).ravel()
    clouds = _stretched(canvas, smooth_noise(generator, size, 70)).ravel()
    sun = np.array((0.62 * canvas.width, 0.3 * canvas.height))
    glow = np.exp(-np.linalg.norm(pixels - sun, axis=1) / (0.55 * canvas.height))
    bevel = smoothstep(gap, LEAD_WIDTH, LEAD_WIDTH + 9)
    light = 0.62 + 0.55 * glow + 0.09 * streaks + 0.1 * clouds + 0.14 * (bevel - 0.5)
    painted = colours[nearest[:, 0]] * light[:, None] + 46 * np.clip(light - 1, 0, 1)[:, None]
    lead = LEAD + 26 * smoothstep(gap, -0.2, 1.2)[:, None] * (1 - smoothstep(gap, 1, 2.4))[:, None]
    whole = np.where((gap < LEAD_WIDTH)[:, None], lead, painted)
    canvas.pixels[:] = np.rint(np.clip(whole, 0, 255)).reshape(height, width, 3)


def _panes(canvas: Canvas, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Middles [n, 2] in units and colours [n, 3] of all panes."""
    middle = np.array((canvas.width, canvas.height)) / 2
    points, colours = [], []
    for number, (radius, count, hues) in enumerate(RINGS):
        for pane in range(count):
            angle = 2 * np.pi * (pane + 0.5 * (number % 2)) / count
            points.append(middle + radius * np.array((np.cos(angle), np.sin(angle))))
            colours.append(hues[pane % len(hues)])
    rows, columns = int(canvas.height / APART) + 2, int(canvas.width / APART) + 2
    for row in range(rows):
        for column in range(columns):
            at = APART * np.array((column + 0.5 * (row % 2), row)) - APART / 2
            at = at + generator.uniform(-0.3, 0.3, 2) * APART
            if np.linalg.norm(at - middle) > ROSE:
                points.append(at)
                colours.append(FIELD[generator.integers(len(FIELD))])
    shades = generator.normal(0, 10, (len(points), 3))
    return np.array(points), np.array(colours, float) + shades


def _stretched(canvas: Canvas, field: np.ndarray) -> np.ndarray:
    """A field in cells of one unit at each of the canvas's pixels."""
    height, width = canvas.pixels.shape[:2]
    rows = np.minimum((np.arange(height) / canvas.scale).astype(int), field.shape[0] - 1)
    columns = np.minimum((np.arange(width) / canvas.scale).astype(int), field.shape[1] - 1)
    return field[rows[:, None], columns]

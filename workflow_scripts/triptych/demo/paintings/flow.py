"""Lines along a flow: where a brush goes, and textures averaged along it.

A flow is a field [H, W, 2] of unit vectors (x, y), in cells of one unit.
"""

import numpy as np

from triptych.demo.paintings.canvas import sample, unit_grid

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

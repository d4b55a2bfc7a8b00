"""Woodcut waves: breakers with claws of foam in a few flat colours, outlined, on paper.

Every shape is a curve of its own, drawn from back to front: a breaker is a family of stripes
between its back and its hollow face, and its foam is clusters of curling fingers.
"""

from dataclasses import dataclass

import numpy as np

from makers.paintings.canvas import Canvas, smooth_noise, smoothstep, unit_grid

PAPER = np.array((238, 226, 194), float)
INK = np.array((14, 24, 48), float)
PRUSSIAN = np.array((16, 62, 104), float)
MIDDLE = np.array((56, 130, 150), float)
PALE = np.array((160, 206, 196), float)
FOAM = np.array((250, 244, 224), float)
SUN = np.array((206, 66, 44), float)
DUSK = np.array((232, 172, 118), float)


@dataclass(frozen=True)
class Breaker:
    """One wave; lengths in units."""

    foot: np.ndarray
    """(x, y) below the crest, on the water line"""
    height: float
    facing: int
    """1 breaks to the right, -1 to the left"""


BACK = np.array(
    [
        (-2.3, -0.02),
        (-1.7, 0.08),
        (-1.1, 0.33),
        (-0.6, 0.68),
        (-0.15, 0.93),
        (0.25, 1.0),
        (0.6, 0.93),
        (0.84, 0.74),
    ]
)
FACE = np.array(
    [
        (1.75, -0.02),
        (1.2, 0.0),
        (0.7, 0.05),
        (0.32, 0.19),
        (0.16, 0.4),
        (0.2, 0.6),
        (0.4, 0.7),
        (0.72, 0.66),
    ]
)
"""The two outlines of a breaker of height 1 (x ahead, y up), each from the water to the lip."""


def spline(points: np.ndarray, count: int) -> np.ndarray:
    """A smooth curve [count, 2] through points [n, 2] (Catmull and Rom)."""
    padded = np.concatenate((2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]))
    t = np.linspace(0, len(points) - 1, count)
    k = np.minimum(t.astype(int), len(points) - 2)
    u = (t - k)[:, None]
    p0, p1, p2, p3 = (padded[k + i] for i in range(4))
    return 0.5 * (
        2 * p1
        + (p2 - p0) * u
        + (2 * p0 - 5 * p1 + 4 * p2 - p3) * u**2
        + (3 * p1 - p0 - 3 * p2 + p3) * u**3
    )


def curl(
    root: np.ndarray, heading: float, length: float, bend: float, width: float, count: int = 14
) -> np.ndarray:
    """Outline [2 count, 2] of a finger that narrows to a hook.

    heading, bend: radians at the root, and the whole turn up to the tip, most of it at the end.
    """
    t = np.linspace(0, 1, count)
    angle = heading + bend * t**1.6
    step = length / (count - 1)
    path = root + np.cumsum(np.stack((np.cos(angle), np.sin(angle)), axis=-1), axis=0) * step
    normal = np.stack((-np.sin(angle), np.cos(angle)), axis=-1)
    half = 0.5 * width * (1 - t**1.7)[:, None]
    return np.concatenate((path + half * normal, (path - half * normal)[::-1]))


def paint_waves(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    _sky(canvas, generator)
    horizon = 0.56 * canvas.height
    rows = 4
    for row in range(rows):
        depth = row / (rows - 1)
        line = horizon + (canvas.height * 1.03 - horizon) * depth**1.1
        _swell(canvas, generator, line, depth)
        for breaker in _breakers(canvas, generator, row, line):
            _draw_breaker(canvas, generator, breaker)
    _print(canvas, generator)


def _breakers(
    canvas: Canvas, generator: np.random.Generator, row: int, line: float
) -> list[Breaker]:
    if row == 1:
        foot = np.array((0.5 * canvas.width - generator.uniform(105, 155), line + 10))
        return [Breaker(foot, min(0.62 * canvas.height, 420.0), 1)]
    size = (70, 0, 125, 120)[row]
    gap = 3.1 * size
    first = generator.uniform(0, gap)
    return [
        Breaker(
            np.array((x + generator.uniform(-0.1, 0.1) * gap, line + 0.05 * size)),
            size * generator.uniform(0.85, 1.15),
            -1 if row == 2 else 1,
        )
        for x in np.arange(first - gap, canvas.width + gap, gap)
    ]


def _sky(canvas: Canvas, generator: np.random.Generator) -> None:
    _, y = unit_grid(canvas.height, canvas.width)
    bands = 0.55 * (1 - smoothstep(y, 0, 0.3 * canvas.height))
    sky = PAPER + (PALE - PAPER) * bands[..., None]
    glow = 0.8 * smoothstep(y, 0.3 * canvas.height, 0.6 * canvas.height)
    sky = sky + (DUSK - sky) * glow[..., None]
    canvas.cover(sky)
    centre = np.array((0.5 * canvas.width + 172, 0.22 * canvas.height))
    canvas.disc(centre, 56, INK)
    canvas.disc(centre, 53.5, SUN)


def _swell(canvas: Canvas, generator: np.random.Generator, line: float, depth: float) -> None:
    """Open water below a line: rows of stripes that follow its waves."""
    x = np.arange(-20, canvas.width + 21, 6.0)
    phase = generator.uniform(0, 2 * np.pi, 2)
    lift = (8 + 7 * depth) * np.sin(x / (50 + 30 * depth) + phase[0]) + 4 * np.sin(
        x / 21 + phase[1]
    )
    below = np.array([(canvas.width + 30, canvas.height + 30), (-30, canvas.height + 30)])
    top = np.stack((x, line + lift), axis=-1)
    canvas.fill(np.concatenate((top, below)), PRUSSIAN)
    canvas.line(top, INK, 3)
    for k in range(1, 12):
        y = line + lift * (1 - 0.03 * k) + 9.5 * k
        colour = (FOAM, MIDDLE, PALE, MIDDLE)[k % 4]
        start = 0
        while start < len(x) - 4:
            length = int(generator.integers(6, 22))
            piece = slice(start, min(start + length, len(x)))
            _tapered(canvas, np.stack((x[piece], y[piece]), axis=-1), 5.5, colour)
            start += length + int(generator.integers(1, 6))


def _tapered(canvas: Canvas, path: np.ndarray, width: float, colour: np.ndarray) -> None:
    """A stripe that narrows to both ends."""
    if len(path) < 3:
        return
    tangent = np.gradient(path, axis=0)
    normal = np.stack((-tangent[:, 1], tangent[:, 0]), axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-9
    half = 0.5 * width * np.sin(np.pi * np.linspace(0, 1, len(path)))[:, None] ** 0.7
    canvas.fill(np.concatenate((path + half * normal, (path - half * normal)[::-1])), colour)


def _draw_breaker(canvas: Canvas, generator: np.random.Generator, wave: Breaker) -> None:
    def place(points: np.ndarray) -> np.ndarray:
        return wave.foot + wave.height * points * np.array((wave.facing, -1))

    count = 60
    back, face = spline(BACK, count), spline(FACE, count)
    body = place(np.concatenate((back, face[::-1])))
    canvas.fill(body, PRUSSIAN)
    # Stripes run from the water up to the lip, closer together near the lip.
    stripes = max(7, round(wave.height / 13))
    for k in range(1, stripes):
        share = k / stripes
        path = place(back + (face - back) * share)
        begin = int(generator.integers(0, 14))
        end = count - int(generator.integers(2, 10))
        colour = (MIDDLE, FOAM, PALE, INK)[k % 4]
        width = 0.036 * wave.height * (1.25 - 0.5 * share)
        _tapered(canvas, path[begin:end], max(width, 3.5), colour)
    for outline in (place(back), place(face)):
        canvas.line(outline, INK, max(2.5, 0.008 * wave.height))
    _foam(canvas, generator, wave, place(back), place(face))


def _foam(
    canvas: Canvas,
    generator: np.random.Generator,
    wave: Breaker,
    back: np.ndarray,
    face: np.ndarray,
) -> None:
    """Claws along the crest, the lip and the upper part of the hollow, and spray before them."""
    edge = np.concatenate((back[26:], face[:40:-1]))
    tangent = np.gradient(edge, axis=0)
    tangent /= np.linalg.norm(tangent, axis=-1, keepdims=True)
    outward = wave.facing * np.stack((tangent[:, 1], -tangent[:, 0]), axis=-1)
    size = float(np.clip(0.082 * wave.height, 8.5, 25))
    along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(edge, axis=0), axis=-1))))
    for inward, spacing, colour in ((0.8, 0.8, PALE), (0.1, 0.6, FOAM)):
        distances = np.arange(0, along[-1], spacing * size)
        distances = distances + generator.uniform(-0.2, 0.2, len(distances)) * size
        places = np.interp(distances, along, np.arange(len(edge)))
        # In random order: one after another they would look like the joints of a spine.
        for place in generator.permutation(places):
            k = int(place)
            grown = size * (0.4 + 0.6 * min(1, place / 24)) * generator.uniform(0.6, 1.35)
            root = edge[k] + (generator.uniform(-0.3, 0.3) - inward) * grown * outward[k]
            _claw(canvas, generator, root, outward[k], grown, wave.facing, colour)
    drops = int(0.16 * wave.height)
    for _ in range(drops):
        k = int(generator.integers(8, len(edge)))
        away = edge[k] + outward[k] * size * generator.uniform(1.6, 5.5)
        away = away + generator.normal(0, 6, 2)
        radius = generator.uniform(1.3, 3.2)
        canvas.disc(away, radius + 1.1, INK)
        canvas.disc(away, radius, FOAM)


def _claw(
    canvas: Canvas,
    generator: np.random.Generator,
    root: np.ndarray,
    outward: np.ndarray,
    size: float,
    facing: int,
    colour: np.ndarray,
) -> None:
    """A knuckle of foam with hooked fingers, outlined as one shape."""
    heading = np.arctan2(outward[1], outward[0]) + facing * generator.uniform(-0.1, 0.5)
    fingers = [
        curl(
            root + 0.25 * size * np.array((np.cos(heading + spread), np.sin(heading + spread))),
            heading + spread,
            size * generator.uniform(1.2, 1.9),
            facing * generator.uniform(1.7, 3.0),
            0.55 * size,
        )
        for spread in (-0.9, -0.25, 0.4, 1.0)
    ]
    line = min(max(0.075 * size, 1.1), 1.7)
    for finger in fingers:
        canvas.line(finger, INK, 2 * line, closed=True)
    canvas.disc(root, 0.62 * size + line, INK)
    for finger in fingers:
        canvas.fill(finger, colour)
    canvas.disc(root, 0.62 * size, colour)
    inside = curl(root - 0.3 * size * outward, heading, size, facing * 2.4, 0.34 * size)
    canvas.fill(inside, MIDDLE if generator.random() < 0.5 else PALE)


def _print(canvas: Canvas, generator: np.random.Generator) -> None:
    """The paper's fibres; no lines of the block, which a network would paint over every sky."""
    shape = round(canvas.height), round(canvas.width)
    canvas.lighten(3.0 * smooth_noise(generator, shape, 2))

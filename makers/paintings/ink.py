"""Ink and wash: mountains in mist, a pine, reeds and birds, black ink with one red seal on paper.

Washes are layers of diluted ink that end in a hard edge above and fade below; the brush's own
strokes are tapered and dry at their ends.
"""

import numpy as np

from makers.paintings.canvas import Canvas, smooth_noise, smoothstep

PAPER = np.array((238, 231, 214), float)
INK = np.array((28, 30, 38), float)
WASH = np.array((70, 92, 108), float)
SEAL = np.array((188, 42, 36), float)
RIDGES = 5
HAIRS = 9
"""Parallel lines of which a stroke of the brush is made"""


def paint_ink(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    size = round(canvas.height), round(canvas.width)
    sheet = np.broadcast_to(PAPER, (*size, 3)) + 3 * smooth_noise(generator, size, 2)[..., None]
    sheet = sheet + 5 * smooth_noise(generator, size, 80)[..., None]
    for number in range(RIDGES):
        sheet = _mountains(generator, sheet, number / (RIDGES - 1))
    canvas.cover(sheet)
    _pine(canvas, generator)
    _reeds(canvas, generator)
    _birds(canvas, generator)
    side = 26.0
    corner = np.array((canvas.width - 2.4 * side, canvas.height - 2.6 * side))
    square = np.array(((0, 0), (1, 0.03), (0.98, 1), (0.02, 0.97))) * side
    canvas.fill(corner + square, SEAL)
    for row in range(3):
        line = np.array(((0.18, 0.24 + 0.26 * row), (0.82, 0.22 + 0.27 * row))) * side
        canvas.line(corner + line, PAPER, 2.4)


def _mountains(generator: np.random.Generator, sheet: np.ndarray, near: float) -> np.ndarray:
    """One range in front of the sheet so far; near: 0 is the farthest."""
    height, width = sheet.shape[:2]
    steps = sum(
        smooth_noise(generator, (1, width), length)[0] * share
        for length, share in ((150, 1.0), (60, 0.45), (22, 0.18), (8, 0.07))
    )
    ridge = (0.30 + 0.46 * near) * height - (0.10 - 0.03 * near) * height * steps
    below = np.arange(height)[:, None] - ridge[None, :]
    blots = smooth_noise(generator, (height, width), 26)
    streaks = smooth_noise(generator, (height, width), 7)
    reach = (0.16 + 0.10 * near) * height
    fade = np.exp(-np.clip(below, 0, None) / reach)
    dark = (0.26 + 0.52 * near) * fade * (1 + 0.22 * blots + 0.12 * streaks)
    cover = np.clip(dark, 0, 0.94) * smoothstep(below, -1.2, 1.2)
    colour = WASH + near * (INK - WASH)
    mist = 0.55 * smoothstep(below, 0.9 * reach, 1.9 * reach) * (1 - near)
    painted = sheet + cover[..., None] * (colour - sheet)
    return painted + mist[..., None] * (PAPER - painted)


def _stroke(
    canvas: Canvas, generator: np.random.Generator, points: np.ndarray, width: float, dark: float
) -> None:
    """A stroke of the brush along points [n, 2]: broad first, thin and dry in the end."""
    t = np.linspace(0, 1, len(points))
    heading = np.gradient(points, axis=0)
    heading /= np.linalg.norm(heading, axis=1, keepdims=True) + 1e-9
    normal = np.stack((-heading[:, 1], heading[:, 0]), -1)
    half = 0.5 * width * (0.35 + 0.65 * np.sin(np.pi * np.clip(t + 0.15, 0, 1)) ** 0.7)
    for place in np.linspace(-1, 1, HAIRS):
        ends = len(points) if abs(place) < 0.5 else int(len(points) * generator.uniform(0.55, 1))
        hair = points + (place * half)[:, None] * normal
        ink = INK + (1 - dark) * (PAPER - INK) + generator.normal(0, 9)
        canvas.line(hair[: max(2, ends)], ink, max(0.8, 2.3 * width / HAIRS))


def _pine(canvas: Canvas, generator: np.random.Generator) -> None:
    t = np.linspace(0, 1, 40)
    x = canvas.width * (0.10 + 0.20 * t**1.4 + 0.035 * np.sin(5.5 * t))
    y = canvas.height * (1.02 - 0.66 * t)
    trunk = np.stack((x, y), -1)
    _stroke(canvas, generator, trunk, 26, 0.95)
    for start, side in ((14, 1), (19, -1), (24, 1), (29, -1), (33, 1), (37, -1), (39, 1)):
        reach = canvas.width * generator.uniform(0.10, 0.24) * (1.25 - start / 45)
        s = np.linspace(0, 1, 16)
        drop = -0.16 * reach * np.sin(np.pi * s) + 0.05 * reach * s
        branch = trunk[start] + np.stack((side * reach * s, drop), -1)
        _stroke(canvas, generator, branch, 7, 0.9)
        for place in branch[4::2]:
            _needles(canvas, generator, place + generator.normal(0, 3, 2))


def _needles(canvas: Canvas, generator: np.random.Generator, place: np.ndarray) -> None:
    for angle in generator.uniform(np.pi, 2 * np.pi, 17):
        reach = generator.uniform(9, 20)
        tip = place + reach * np.array((np.cos(angle), 0.8 * np.sin(angle)))
        dark = generator.uniform(0.55, 1)
        canvas.line(np.stack((place, tip)), INK + (1 - dark) * (PAPER - INK), 1.5)


def _reeds(canvas: Canvas, generator: np.random.Generator) -> None:
    t = np.linspace(0, 1, 18)
    for _ in range(34):
        foot = np.array((generator.uniform(0.5, 0.98), 1.01)) * (canvas.width, canvas.height)
        reach, bend = generator.uniform(40, 130), generator.normal(0, 46)
        blade = foot + np.stack((bend * t**2, -reach * t + 0.15 * abs(bend) * t**3), -1)
        _stroke(canvas, generator, blade, generator.uniform(3, 6), generator.uniform(0.5, 1))


def _birds(canvas: Canvas, generator: np.random.Generator) -> None:
    for number in range(7):
        at = np.array((0.58 + 0.05 * number, 0.17 + 0.03 * (number % 3) - 0.01 * number))
        at = at * (canvas.width, canvas.height) + generator.normal(0, 5, 2)
        t = np.linspace(-1, 1, 13)
        span = generator.uniform(7, 12)
        wing = at + np.stack((span * t, span * (0.55 * np.abs(t) ** 0.7 - 0.5)), -1)
        canvas.line(wing, INK, 1.9)

"""A night sky of swirls: brush strokes laid along a flow of vortices, with glowing stars.

Strokes follow the flow by Runge-Kutta steps; the broad bands of colour under them are noise
averaged along the flow (line integral convolution, Cabral and Leedom, SIGGRAPH 1993).
"""

from dataclasses import dataclass

import cv2
import numpy as np

from makers.paintings.canvas import (
    Canvas,
    line_integral,
    palette,
    sample,
    smooth_noise,
    smoothstep,
    trace,
    unit_grid,
)

SKY = np.array(
    [
        (10, 20, 62),
        (18, 42, 112),
        (28, 72, 158),
        (60, 116, 188),
        (132, 178, 206),
        (214, 222, 190),
        (250, 218, 96),
    ],
    float,
)
GLOW = np.array(
    [(255, 250, 214), (255, 226, 92), (250, 184, 36), (246, 226, 130), (150, 196, 196)], float
)
LAND = np.array([(8, 14, 34), (16, 38, 66), (22, 66, 92), (44, 104, 96), (104, 140, 88)], float)
TREE = np.array([(8, 12, 14), (18, 34, 26), (42, 56, 30), (92, 70, 32)], float)
ACCENTS = np.array(
    [(250, 226, 130), (248, 196, 52), (20, 30, 84), (90, 176, 188), (236, 236, 214), (84, 70, 160)],
    float,
)

LEVEL = (128.0, 128.0, 128.0)
"""Grey of paint that is neither raised nor scratched"""


@dataclass(frozen=True)
class Scene:
    """Where the strokes go and what colour they have; fields [H, W] in cells of one unit."""

    flow: np.ndarray
    """[H, W, 2] unit vectors (x, y)"""
    colours: np.ndarray
    """[H, W, 3]"""
    calm: np.ndarray
    """[H, W] in [0, 1]: 1 where strokes keep their colour (land, stars)"""


@dataclass(frozen=True)
class Strokes:
    """One layer of paint; lengths in units."""

    spacing: float
    length: float
    width: float
    bristles: int
    jitter: float
    """Standard deviation of a stroke's lightness, in grey levels"""
    accents: float
    """Share of strokes in a colour of their own"""


LAYERS = (
    Strokes(spacing=10, length=80, width=19, bristles=4, jitter=10, accents=0.0),
    Strokes(spacing=9, length=64, width=12, bristles=4, jitter=24, accents=0.07),
    Strokes(spacing=11, length=52, width=8, bristles=3, jitter=34, accents=0.2),
)


def night_scene(generator: np.random.Generator, height: float, width: float) -> Scene:
    """Sky with vortices, stars and a moon; hills and a tree below."""
    x, y = unit_grid(height, width)
    angle = 0.35 * np.sin(2 * np.pi * (x / 430 + generator.random())) + 0.25 * smooth_noise(
        generator, x.shape, 150
    )
    flow = np.stack((np.cos(angle), np.sin(angle)), axis=-1)
    vortices = _vortices(generator, height, width)
    for cx, cy, radius, sense in vortices:
        flow = _blend(flow, *_around(x, y, cx, cy, radius, sense, inward=0.28))
    stars = _stars(generator, vortices, height, width)
    for cx, cy, radius in stars:
        flow = _blend(flow, *_around(x, y, cx, cy, 1.3 * radius, 1, inward=0.0))
    flow /= np.linalg.norm(flow, axis=-1, keepdims=True) + 1e-9

    tone = line_integral(smooth_noise(generator, x.shape, 13), flow, 70)
    tone = _equalised(tone) ** 1.2
    colours = palette(SKY, tone * (0.86 + 0.14 * smoothstep(y, 0.2 * height, 0.75 * height)))
    calm = np.zeros_like(x)
    for cx, cy, radius in stars:
        distance = np.hypot(x - cx, y - cy) / radius
        rings = np.clip(distance / 1.15 + 0.1 * np.sin(distance * 15), 0, 1)
        share = 1 - smoothstep(distance + 0.12 * np.sin(distance * 15 + 2), 0.6, 1.5)
        colours = _mix(colours, palette(GLOW, rings), share)
        calm = np.maximum(calm, share)
    return _with_land(generator, Scene(flow, colours, calm), x, y, height, width)


def _vortices(
    generator: np.random.Generator, height: float, width: float
) -> list[tuple[float, float, float, int]]:
    """x, y, radius, sense of rotation: one large, one that turns with it, small ones around."""
    largest = np.array((0.5 * width, 0.36 * height)) + generator.uniform(-30, 30, 2)
    found = [(*largest, 125.0, 1)]
    second = largest + np.array((165, 75)) + generator.uniform((0, -25), (25, 25))
    found.append((*second, 75.0, -1))
    for left in np.arange(largest[0] - 210, -80, -190):
        found.append((left, 0.46 * height + generator.uniform(-50, 50), 80.0, -1))
    for right in np.arange(second[0] + 190, width + 80, 190):
        found.append((right, 0.4 * height + generator.uniform(-70, 70), 85.0, 1))
    return [(float(a), float(b), c, d) for a, b, c, d in found]


def _stars(
    generator: np.random.Generator,
    vortices: list[tuple[float, float, float, int]],
    height: float,
    width: float,
) -> list[tuple[float, float, float]]:
    """x, y, radius of the stars, the first being the moon; outside vortices and one another."""
    found = [(float(0.87 * width), float(0.15 * height), 50.0)]
    for _ in range(400):
        cx, cy = generator.uniform(10, width - 10), generator.uniform(8, 0.66 * height)
        radius = 13 + 22 * generator.random() ** 1.5
        alone = all(np.hypot(cx - a, cy - b) > 1.7 * (radius + r) for a, b, r in found)
        if alone and all(np.hypot(cx - v[0], cy - v[1]) > 0.75 * v[2] + radius for v in vortices):
            found.append((float(cx), float(cy), float(radius)))
        if len(found) >= 11 * width * height / 512**2 + 1:
            break
    return found


def _around(
    x: np.ndarray, y: np.ndarray, cx: float, cy: float, radius: float, sense: int, inward: float
) -> tuple[np.ndarray, np.ndarray]:
    """Directions [H, W, 2] that circle a point, and their share [H, W] of the flow."""
    dx, dy = x - cx, y - cy
    distance = np.hypot(dx, dy) + 1e-6
    vector = np.stack((-sense * dy - inward * dx, sense * dx - inward * dy), axis=-1)
    share = 1 - smoothstep(distance / radius, 0.75, 1.35)
    return vector / distance[..., None], share


def _blend(flow: np.ndarray, vector: np.ndarray, share: np.ndarray) -> np.ndarray:
    return flow * (1 - share[..., None]) + vector * share[..., None]


def _mix(under: np.ndarray, over: np.ndarray, share: np.ndarray) -> np.ndarray:
    return under + (over - under) * share[..., None]


def _equalised(values: np.ndarray) -> np.ndarray:
    """Ranks in [0, 1]: every tone covers the same area."""
    ranks = np.empty(values.size)
    ranks[np.argsort(values, axis=None, kind="stable")] = np.linspace(0, 1, values.size)
    return ranks.reshape(values.shape)


def _with_land(
    generator: np.random.Generator,
    sky: Scene,
    x: np.ndarray,
    y: np.ndarray,
    height: float,
    width: float,
) -> Scene:
    """Rolling hills along the bottom and a dark tree like a flame, with flows of their own."""
    flow, colours, calm = sky.flow.copy(), sky.colours.copy(), sky.calm.copy()
    grain = smooth_noise(generator, x.shape, 9)
    for number, top in enumerate((0.78, 0.86, 0.93)):
        phase = generator.uniform(0, 2 * np.pi, 2)
        u = x / 512
        ridge = top * height - 20 * np.sin(5.1 * u + phase[0]) - 11 * np.sin(11.3 * u + phase[1])
        slope = (
            -(20 * 5.1 * np.cos(5.1 * u + phase[0]) + 11 * 11.3 * np.cos(11.3 * u + phase[1])) / 512
        )
        depth = (y - ridge) / (0.1 * height)
        inside = depth > 0
        direction = np.stack((np.ones_like(slope), slope), axis=-1)
        flow[inside] = (direction / np.linalg.norm(direction, axis=-1, keepdims=True))[inside]
        tone = _equalised(line_integral(grain, flow, 24))
        tone = 0.12 * number + 0.45 * tone + 0.35 * np.exp(-(((depth - 0.25) / 0.2) ** 2))
        tone = np.where(depth < 0.09, 0.0, tone)
        colours[inside] = palette(LAND, np.clip(tone, 0, 1))[inside]
        calm[inside] = 0.8
    base = 0.13 * width if width <= 700 else 0.09 * width
    reach = np.clip((height - y) / (0.86 * height), 0, 1.2)
    sway = 9 * np.sin(y / 34) * reach
    half = 50 * np.clip(1 - reach, 0, 1) ** 0.8 * (1 + 0.2 * np.sin(y / 21))
    across = (x - base - sway) / np.maximum(half, 1e-6)
    inside = (np.abs(across) < 1) & (reach < 1)
    lean = 0.5 * across + 0.35 * np.sin(y / 17 + 3 * across)
    up = np.stack((np.sin(lean), -np.cos(lean)), axis=-1)
    flow[inside] = up[inside]
    tone = _equalised(line_integral(grain, flow, 24)) ** 1.6
    colours[inside] = palette(TREE, tone)[inside]
    calm[inside] = 1
    return Scene(flow, colours, calm)


def paint_swirls(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    scene = night_scene(generator, canvas.height, canvas.width)
    relief = Canvas(canvas.height, canvas.width, canvas.scale, ground=LEVEL)
    for layer in LAYERS:
        _lay(canvas, relief, generator, scene, layer)
    _light(canvas, relief)


def _lay(
    canvas: Canvas, relief: Canvas, generator: np.random.Generator, scene: Scene, layer: Strokes
) -> None:
    """One layer of strokes, in random order."""
    rows, columns = scene.calm.shape
    across = np.arange(-layer.spacing, columns + layer.spacing, layer.spacing)
    down = np.arange(-layer.spacing, rows + layer.spacing, layer.spacing)
    starts = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    starts = starts + generator.uniform(-0.6, 0.6, starts.shape) * layer.spacing
    starts = starts[generator.permutation(len(starts))]
    count = len(starts)
    calm = sample(scene.calm, starts)
    lengths = layer.length * generator.uniform(0.55, 1.3, count) * (1 - 0.45 * calm)
    widths = layer.width * generator.uniform(0.55, 1.35, count) * (1 - 0.3 * calm)
    lines = trace(scene.flow, starts, lengths, steps=12)
    # A little beside the stroke, so that edges of the scene break up into strokes.
    colours = sample(scene.colours, starts + generator.normal(0, 3.5, (count, 2)))
    accent = generator.random(count) < layer.accents * (1 - calm)
    chosen = ACCENTS[generator.integers(len(ACCENTS), size=count)]
    colours = np.where(accent[:, None], 0.3 * colours + 0.7 * chosen, colours)
    colours = colours + generator.normal(0, layer.jitter, (count, 1)) * (1 - 0.4 * calm[:, None])
    colours = colours + generator.normal(0, 7, (count, 3))

    tangents = np.gradient(lines, axis=1)
    normals = np.stack((-tangents[..., 1], tangents[..., 0]), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-9
    taper = np.sin(np.pi * np.linspace(0.06, 0.94, lines.shape[1])) ** 0.6
    halves = 0.5 * widths[:, None] * taper
    offsets = np.linspace(-0.7, 0.7, layer.bristles)
    tints = generator.normal(0, 13, (count, layer.bristles))
    edges = normals * halves[..., None]
    outlines = np.concatenate((lines + edges, (lines - edges)[:, ::-1]), axis=1)
    hairs = lines[:, None] + offsets[:, None, None] * edges[:, None]
    tinted = np.clip(colours[:, None] + tints[..., None], 0, 255).tolist()
    greys = np.repeat(np.clip(128 + 3.2 * tints, 0, 255)[..., None], 3, axis=-1).tolist()
    flat = np.clip(colours, 0, 255).tolist()
    outlines, hairs = canvas.fixed(outlines), canvas.fixed(hairs)
    for k in range(count):
        canvas.fill_fixed(outlines[k], flat[k])
        relief.fill_fixed(outlines[k], LEVEL)
        thin = widths[k] / layer.bristles
        for hair, tint, grey in zip(hairs[k], tinted[k], greys[k], strict=True):
            canvas.line_fixed(hair, tint, 0.3 * thin + 0.2)
            relief.line_fixed(hair, grey, 0.5 * thin + 0.2)


def _light(canvas: Canvas, relief: Canvas) -> None:
    """Lighten and darken the paint as its relief turns to and from a light at the upper left."""
    heights = cv2.GaussianBlur(relief.pixels[..., 0].astype(np.float32), (0, 0), 0.6 * canvas.scale)
    slope = cv2.Sobel(heights, cv2.CV_32F, 1, 0) + cv2.Sobel(heights, cv2.CV_32F, 0, 1)
    canvas.lighten(np.clip(slope * 0.1 * canvas.scale, -26, 26))

"""A shore in dots: pure colours side by side, of which the eye mixes a scene (Seurat, Signac).

Dots lie on jittered grids, the coarse ones first. A dot's colour is its place's, pushed towards a
hue of a small palette; one in some is the complement, which makes the others glow.
"""

import numpy as np

from makers.paintings.canvas import Canvas, sample, smooth_noise, smoothstep

CREAM = np.array((236, 226, 200), float)
SKY = np.array(((250, 214, 150), (246, 186, 168), (150, 190, 224), (84, 132, 200)), float)
SEA = np.array(((38, 96, 160), (62, 150, 172), (142, 202, 190)), float)
SAND = np.array((240, 206, 140), float)
GRASS = np.array(((58, 120, 62), (120, 168, 60), (196, 190, 74)), float)
LEAVES = np.array(((28, 78, 70), (56, 122, 66), (142, 164, 60)), float)
TRUNK = np.array((92, 52, 84), float)
SUN = np.array((255, 236, 150), float)

LAYERS = ((9.0, 5.2, 0.0), (6.5, 3.4, 0.10), (5.0, 2.4, 0.16))
"""Distance and radius of dots in units, and the share of complements among them"""
VIVID, SPREAD = 1.45, 26.0
"""How far colours are pushed from grey, and how much they vary from dot to dot"""


def paint_dots(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    canvas.pixels[:] = CREAM
    scene = _scene(canvas, generator)
    for distance, radius, complements in LAYERS:
        _dots(canvas, generator, scene, distance, radius, complements)


def _scene(canvas: Canvas, generator: np.random.Generator) -> np.ndarray:
    """What is seen, [H, W, 3] in cells of one unit."""
    height, width = round(canvas.height), round(canvas.width)
    y, x = np.mgrid[0:height, 0:width] + 0.5
    u, v = x / width, y / height
    wide = smooth_noise(generator, (height, width), 90)
    fine = smooth_noise(generator, (height, width), 22)
    horizon = 0.44
    scene = _ramp(SKY[::-1], v / horizon + 0.05 * wide)
    sun = np.hypot((u - 0.68) * width, (v - 0.24) * height)
    scene = _over(scene, SUN, 1 - smoothstep(sun, 26, 34))
    scene = _over(scene, SUN, 0.45 * (1 - smoothstep(sun, 30, 120)))
    sea = _ramp(SEA, (v - horizon) / 0.3 + 0.08 * fine)
    glitter = (np.abs(u - 0.68) < 0.02 + 0.12 * (v - horizon)) & (fine > 0.2)
    sea = np.where(glitter[..., None], SUN, sea)
    scene = np.where((v > horizon)[..., None], sea, scene)
    shore = 0.70 + 0.05 * np.sin(3.1 * u + 0.6) + 0.008 * wide
    scene = _over(scene, SAND, smoothstep(v, shore - 0.01, shore + 0.01))
    meadow = shore + 0.10 + 0.06 * np.sin(5.2 * u + 2.0) + 0.012 * wide
    grass = _ramp(GRASS, 0.5 + 0.3 * fine + 0.3 * wide * u)
    scene = np.where((v > meadow)[..., None], grass, scene)
    for at, reach, top in ((0.16, 0.20, 0.22), (0.33, 0.11, 0.40), (0.93, 0.12, 0.34)):
        scene = _tree(scene, u, v, fine + 0.6 * wide, (at, reach, top), meadow)
    return scene


def _tree(
    scene: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    noise: np.ndarray,
    where: tuple[float, float, float],
    meadow: np.ndarray,
) -> np.ndarray:
    at, reach, top = where
    lean = at + 0.03 * np.sin(9 * v)
    trunk = (np.abs(u - lean) < 0.012) & (v > top) & (v < meadow + 0.06)
    scene = np.where(trunk[..., None], TRUNK, scene)
    crown = np.hypot((u - at) / reach, (v - top - 0.1) / (1.1 * reach)) + 0.16 * noise
    leaves = _ramp(LEAVES, 0.55 - 0.9 * (u - at) / reach + 0.25 * noise)
    return np.where((crown < 1)[..., None], leaves, scene)


def _dots(
    canvas: Canvas,
    generator: np.random.Generator,
    scene: np.ndarray,
    distance: float,
    radius: float,
    complements: float,
) -> None:
    rows, columns = int(canvas.height / distance) + 2, int(canvas.width / distance) + 2
    y, x = np.mgrid[0:rows, 0:columns].astype(float)
    points = np.stack((x + 0.5 * (y % 2), y), -1).reshape(-1, 2) * distance
    points += generator.uniform(-0.35, 0.35, points.shape) * distance
    colours = sample(scene, points).astype(float)
    grey = colours.mean(1, keepdims=True)
    colours = grey + VIVID * (colours - grey) + generator.normal(0, SPREAD, colours.shape)
    turned = generator.random(len(points)) < complements
    colours[turned] = 0.35 * colours[turned] + 0.65 * (2 * grey[turned] - colours[turned])
    radii = radius * generator.uniform(0.75, 1.15, len(points))
    for index in generator.permutation(len(points)):
        canvas.disc(points[index], radii[index], colours[index])


def _ramp(colours: np.ndarray, positions: np.ndarray) -> np.ndarray:
    stops = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(positions, stops, colours[:, c]) for c in range(3)], -1)


def _over(scene: np.ndarray, colour: np.ndarray, cover: np.ndarray) -> np.ndarray:
    return scene + cover[..., None] * (colour - scene)

"""An engraving: hills, clouds and trees in hatched lines, dark ink on warm paper.

A picture of tones is drawn by families of lines, one across the other where it is dark. Lines bend
with the ground and swell with the tone, as a burin's do.
"""

import cv2
import numpy as np

from makers.paintings.canvas import Canvas, smooth_noise, smoothstep

PAPER = np.array((240, 230, 206), float)
INK = np.array((34, 26, 30), float)
APART = 6.4
"""Units from line to line"""
FAMILIES = ((0.5, 1.0), (-0.65, 0.62), (1.45, 0.40), (-1.5, 0.24))
"""Angles in radians, and the lightness below which a family is drawn"""
THINNEST, BROADEST = 0.10, 0.62
"""Parts of the distance that a line takes"""


def paint_hatching(canvas: Canvas, generator: np.random.Generator) -> None:
    """Fill the canvas; see the module's first lines."""
    size = round(canvas.height), round(canvas.width)
    tone, form = _picture(generator, *size)
    wobble = smooth_noise(generator, size, 34)
    grain = smooth_noise(generator, size, 4)
    tone, form, wobble, grain = (_at_pixels(canvas, each) for each in (tone, form, wobble, grain))
    height, width = canvas.pixels.shape[:2]
    y, x = (np.mgrid[0:height, 0:width].astype(np.float32) + 0.5) / canvas.scale
    ink = np.zeros((height, width), np.float32)
    for angle, least in FAMILIES:
        across = -np.sin(angle) * x + np.cos(angle) * y + 20 * form + 0.9 * wobble
        part = np.abs(across / APART - np.round(across / APART)) * 2
        dark = np.clip((least - tone) / least, 0, 1)
        swell = np.where(dark > 0.02, THINNEST + (BROADEST - THINNEST) * dark, 0)
        ink = np.maximum(ink, smoothstep(swell + 0.05 * grain - part, -0.06, 0.06) * (swell > 0))
    paper = PAPER + 4 * grain[..., None] + 5 * wobble[..., None]
    whole = paper + ink[..., None] * (INK - paper)
    canvas.pixels[:] = np.rint(np.clip(whole, 0, 255))


def _picture(
    generator: np.random.Generator, height: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lightness from 0 to 1 and what lines bend by, [H, W] in cells of one unit."""
    y, x = np.mgrid[0:height, 0:width] + 0.5
    u, v = x / width, y / height
    wide = smooth_noise(generator, (height, width), 120)
    middle = smooth_noise(generator, (height, width), 44)
    clouds = 0.5 * wide + 0.5 * middle
    tone = 0.80 + 0.30 * smoothstep(clouds, -0.2, 0.6) - 0.30 * (1 - v)
    form = 0.25 * clouds
    sun = np.hypot(u - 0.3, (v - 0.2) * height / width)
    tone = np.where(sun < 0.075, 1.2, tone + 0.25 * np.exp(-6 * sun))
    for number, base in enumerate((0.44, 0.54, 0.66, 0.80)):
        phase = generator.uniform(0, 2 * np.pi, 3)
        ridge = base + 0.05 * np.sin(5.1 * u + phase[0]) + 0.03 * np.sin(11 * u + phase[1])
        ridge = ridge + 0.008 * np.sin(31 * u + phase[2])
        inside = v > ridge
        depth = (v - ridge) / 0.28
        slope = np.cos(5.1 * u + phase[0]) + 0.5 * np.cos(11 * u + phase[1])
        hill = 0.74 - 0.13 * number + 0.18 * slope - 0.35 * depth + 0.10 * middle
        tone = np.where(inside, hill, tone)
        form = np.where(inside, 0.9 * slope * np.exp(-depth) + 0.7 * number + 0.3 * wide, form)
    for at, foot, reach in ((0.82, 0.86, 0.11), (0.66, 0.74, 0.06), (0.12, 0.92, 0.13)):
        tone, form = _tree(tone, form, u, v, middle + wide, (at, foot, reach), width / height)
    return np.clip(tone, 0, 1), form


def _tree(
    tone: np.ndarray,
    form: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    noise: np.ndarray,
    where: tuple[float, float, float],
    ratio: float,
) -> tuple[np.ndarray, np.ndarray]:
    at, foot, reach = where
    trunk = (np.abs(u - at) < 0.09 * reach) & (v < foot) & (v > foot - 1.6 * reach)
    tone, form = np.where(trunk, 0.10, tone), np.where(trunk, 4 * (u - at) / reach, form)
    across, down = (u - at) / reach, (v - foot + 2.1 * reach) / (1.1 * reach * ratio)
    crown = np.hypot(across, down) + 0.10 * noise
    ball = 0.42 - 0.55 * across - 0.45 * down + 0.16 * noise
    inside = crown < 1
    return np.where(inside, ball, tone), np.where(inside, 1.5 * across + 0.5 * down, form)


def _at_pixels(canvas: Canvas, field: np.ndarray) -> np.ndarray:
    """A field in cells of one unit, smoothly at each of the canvas's pixels."""
    size = canvas.pixels.shape[1::-1]
    return cv2.resize(field.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)

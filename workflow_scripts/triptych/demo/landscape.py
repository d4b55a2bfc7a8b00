"""A landscape rendered from a seed, mountains above a lake, where no large photograph is at hand.

Nothing is enlarged: noise has as many octaves as the size asked for can show, so that a larger
picture has finer rocks, trees' edges and ripples, and the same mountains.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

SHORE = 0.66
"""Where the lake begins, as a share of the height from the top."""
FINEST = 3.0
"""Pixels between two random numbers of the finest octave, at least."""
RANGES = (
    # where a range stands, how high it rises (of the height), how far it is: the more, the bluer
    (0.52, 0.34, 0.75),
    (0.60, 0.24, 0.40),
    (0.66, 0.09, 0.05),
)
ROCK, SNOW, FOREST = (0.36, 0.33, 0.31), (0.95, 0.96, 0.99), (0.13, 0.22, 0.12)
ZENITH, HAZE, CLOUD = (0.20, 0.42, 0.75), (0.74, 0.83, 0.91), (0.97, 0.96, 0.95)
WATER = (0.10, 0.27, 0.33)


def landscape(size: tuple[int, int], seed: int) -> np.ndarray:
    """Mountains, sky and lake, uint8 [H, W, 3] RGB of `size` (height, width)."""
    height = size[0]
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    picture = _mixed(ZENITH, HAZE, np.broadcast_to(down / RANGES[0][0], size))
    picture = _mixed(picture, CLOUD, 2.5 * noise(size, (seed, 1), 3) * (1 - down))
    for number, (foot, rise, far) in enumerate(RANGES):
        _raise_range(picture, (seed, 2 + number), down, foot, rise, far)
    shore = round(SHORE * height)
    picture[shore:] = _lake(picture[:shore], (seed, 9), height - shore)
    return (255 * picture.clip(0, 1)).round().astype(np.uint8)


def noise(size: tuple[int, int], seed: Sequence[int], cells: float) -> np.ndarray:
    """Smooth noise of zero mean, about in [-1, 1], float32 [H, W]: `cells` along the shorter side,
    then twice as many at half the strength, and so on."""
    import cv2

    total, strength, octave = np.zeros(size, np.float32), 0.5, 0
    while cells * FINEST <= min(size):
        grid = tuple(int(cells * side / min(size)) + 3 for side in size)
        values = np.random.default_rng([*seed, octave]).uniform(-1, 1, grid).astype(np.float32)
        step = cells / min(size)
        rows, columns = (np.arange(side, dtype=np.float32) * step + 1 for side in size)
        across, along = np.meshgrid(columns, rows)
        total += strength * cv2.remap(values, across, along, cv2.INTER_CUBIC)
        cells, strength, octave = 2 * cells, strength / 2, octave + 1
    return total


def _mixed(one: ArrayLike, other: ArrayLike, share: np.ndarray) -> np.ndarray:
    share = share[..., None].clip(0, 1)
    mixed: np.ndarray = (1 - share) * np.asarray(one, np.float32)
    return mixed + share * np.asarray(other, np.float32)


def _raise_range(
    picture: np.ndarray, seed: Sequence[int], down: np.ndarray, foot: float, rise: float, far: float
) -> None:
    """Paint one range of mountains over what is behind it."""
    size = picture.shape[0], picture.shape[1]
    profile = noise(size, (*seed, 0), 4)[size[0] // 2][None]  # one row of noise in two dimensions
    crest = foot - rise * (0.45 + profile)
    rocks = noise(size, (*seed, 1), 6)
    light = np.gradient(rocks, axis=1) * min(size) / 12
    above = (foot - down) / rise
    snow = 6 * (above + 0.6 * rocks - 0.55) if far > 0.1 else np.zeros(size, np.float32)
    ground = _mixed(_mixed(FOREST, ROCK, np.broadcast_to(4 * (above - 0.15), size)), SNOW, snow)
    ground = ground * (0.8 + 0.5 * light.clip(-0.9, 0.9))[..., None]
    ground = _mixed(ground, HAZE, np.full(size, 0.75 * far, np.float32))
    covered = ((down - crest) * size[0]).clip(0, 1)  # a soft edge of one pixel
    picture += covered[..., None] * (ground - picture)


def _lake(above: np.ndarray, seed: tuple[int, int], rows: int) -> np.ndarray:
    """The landscape above the shore, mirrored and rippled, in `rows` rows."""
    import cv2

    width = above.shape[1]
    depth = np.linspace(0, 1, rows, dtype=np.float32)[:, None]
    ripples = noise((rows, width), (*seed, 0), 12) * np.ones((1, width), np.float32)
    along = len(above) - 1 - (depth + 0.12 * depth * ripples) * (rows - 1)
    across = np.arange(width, dtype=np.float32)[None] + 0.02 * width * depth * ripples
    mirrored = cv2.remap(above, across, along, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return _mixed(mirrored, WATER, 0.25 + 0.35 * depth + 0.2 * ripples)

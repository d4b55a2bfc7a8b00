"""Pictures by chance: what networks train on beside the few bundled photographs.

Scenes whose statistics are like photographs' where style transfer looks: occluding objects of all
sizes (dead leaves: Lee, Mumford, Huang 2001), flat and shaded parts, sharp outlines, skies, fine
texture of a spectrum that falls with frequency. A picture is a function of its key.
"""

import math

import cv2
import numpy as np

Picture = np.ndarray
"""float32 [S, S, 3], RGB, in about [0, 1]."""

CORNERS = (3, 4, 4, 5, 7, 40)
"""Of an object, each as likely; the last is an ellipse's."""
_ANGLES = np.linspace(0, 2 * math.pi, CORNERS[-1], endpoint=False)
ELLIPSE = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], 1)


def _leaves(size: int, random: np.random.Generator) -> Picture:
    """Shapes that hide one another, their radii as frequent as the cube of their inverse."""
    colours = _colours(random, 12)
    image = _graded(size, random, colours)
    least, largest = 0.01 * size, random.uniform(0.15, 0.45) * size
    count = int(random.integers(200, 1200))
    radii = (largest**-2 + random.random(count) * (least**-2 - largest**-2)) ** -0.5
    for radius in np.sort(radii)[::-1]:
        _object(image, random, radius, colours[random.integers(len(colours))])
    return image


def _object(image: Picture, random: np.random.Generator, radius: float, colour: np.ndarray) -> None:
    """One object somewhere: an ellipse or a polygon, flat, or shaded as if light fell on it."""
    size = len(image)
    centre = random.uniform(0, size, 2)
    corners = CORNERS[random.integers(len(CORNERS))]
    if corners == CORNERS[-1]:
        points = ELLIPSE * [1, random.uniform(0.3, 1)] * radius
    else:
        angles = np.sort(random.uniform(0, 2 * math.pi, corners))
        flat = random.uniform(0.3, 1)
        points = np.stack([np.cos(angles), np.sin(angles) * flat], 1) * radius
    turn = random.uniform(0, math.pi)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    outline = (points @ rotation.T + centre).round().astype(np.int32)
    left, top = np.maximum(outline.min(0), 0)
    right, bottom = np.minimum(outline.max(0) + 1, size)
    if right <= left or bottom <= top:
        return
    mask = np.zeros((bottom - top, right - left), np.uint8)
    cv2.fillPoly(mask, [outline - (left, top)], 255, cv2.LINE_AA)
    shade = np.ones(mask.shape, np.float32)
    if random.random() < 0.7:
        light = random.uniform(-0.35, 0.35, 2) / radius
        across = (np.arange(left, right) - centre[0]) * light[0]
        down = (np.arange(top, bottom) - centre[1]) * light[1]
        shade += (across + down[:, None]).astype(np.float32)
    if radius > 12 and random.random() < 0.3:
        shade += 0.15 * _noise(mask.shape, random, random.uniform(0.5, 2))
    part = image[top:bottom, left:right]
    weight = (mask / np.float32(255))[..., None]
    part += weight * (colour * shade[..., None] - part)


def _landscape(size: int, random: np.random.Generator) -> Picture:
    """A sky with clouds, ridges that pale with distance, and ground."""
    sky = _colours(random, 2, light=(0.5, 1.0))
    rows = np.linspace(0, 1, size, dtype=np.float32)[:, None]
    image = (sky[0] + (sky[1] - sky[0]) * rows[..., None]) * np.ones((size, size, 1), np.float32)
    clouds = np.clip(_noise((size, size), random, 1.8) - random.uniform(-0.5, 1.5), 0, 1)
    image += clouds[..., None] * (0.95 - image) * random.uniform(0, 0.9)
    haze, ridges = sky[1], int(random.integers(1, 6))
    horizon = random.uniform(0.25, 0.6)
    for number in range(ridges):
        near = (number + 1) / ridges
        line = _noise((1, size), random, random.uniform(1.5, 2.5))[0]
        top = (horizon + 0.35 * number / ridges + 0.09 * line) * size
        colour = _colours(random, 1, light=(0.1, 0.6))[0] * near + haze * (1 - near)
        texture = 1 + 0.25 * near * _noise((size, size), random, random.uniform(0.6, 1.6))
        below = np.clip(np.arange(size)[:, None] - top[None], 0, 1).astype(np.float32)[..., None]
        image += below * (colour * texture[..., None] - image)
    for _ in range(int(random.integers(0, 12))):
        _branch(image, random)
    return image


def _branch(image: Picture, random: np.random.Generator) -> None:
    """A dark, thin line that bends: a stem, a wire, a crack."""
    size = len(image)
    turns = np.cumsum(random.normal(0, 0.08, 60)) + random.uniform(0, 2 * math.pi)
    steps = np.stack([np.cos(turns), np.sin(turns)], 1) * size / random.uniform(60, 300)
    points = np.cumsum(steps, 0) + random.uniform(0, size, 2)
    colour = tuple(float(value) for value in _colours(random, 1, light=(0.0, 0.4))[0])
    width = int(random.integers(1, 1 + max(2, size // 60)))
    cv2.polylines(image, [points.round().astype(np.int32)], False, colour, width, cv2.LINE_AA)


def _houses(size: int, random: np.random.Generator) -> Picture:
    """Blocks with rows of windows before a graded sky."""
    image = _graded(size, random, _colours(random, 3, light=(0.4, 1.0)))
    for number in range(int(random.integers(3, 14))):
        wide, high = random.uniform(0.08, 0.4) * size, random.uniform(0.2, 0.8) * size
        left, top = random.uniform(-0.1, 1) * size, size - high * (1 - number / 30)
        box = np.array([left, top, left + wide, size]).round().astype(int)
        wall = _colours(random, 1, light=(0.15, 0.85))[0]
        cv2.rectangle(image, box[:2].tolist(), box[2:].tolist(), wall.tolist(), -1)
        cell = np.array([random.uniform(0.02, 0.07), random.uniform(0.025, 0.09)]) * size
        pane, open_ = cell * random.uniform(0.35, 0.8), wall * random.uniform(0.3, 1.6)
        for x in np.arange(left + cell[0] / 2, left + wide - pane[0], cell[0]):
            for y in np.arange(top + cell[1] / 2, size, cell[1]):
                ends = np.array([[x, y], [x + pane[0], y + pane[1]]]).round().astype(int).tolist()
                cv2.rectangle(image, ends[0], ends[1], open_.tolist(), -1)
    return image


def _cells(size: int, random: np.random.Generator) -> Picture:
    """Voronoi cells, with joints or without: stones, scales, tiles, panes."""
    count = int(random.integers(8, 300))
    seeds = random.uniform(0, size, (count, 2))
    subdivision = cv2.Subdiv2D((0, 0, size, size))
    subdivision.insert([(float(x), float(y)) for x, y in seeds])
    facets, _ = subdivision.getVoronoiFacetList([])
    colours = _colours(random, int(random.integers(2, 12)))
    image = np.zeros((size, size, 3), np.float32)
    joint, width = colours[0] * random.uniform(0, 0.6), int(random.integers(0, size // 40))
    for corners in facets:
        facet = np.asarray(corners).astype(np.int32)
        colour = colours[random.integers(len(colours))] * random.uniform(0.8, 1.2)
        cv2.fillConvexPoly(image, facet, colour.tolist(), cv2.LINE_AA)
        if width:
            cv2.polylines(image, [facet], True, joint.tolist(), width, cv2.LINE_AA)
    return image * (1 + 0.1 * _noise((size, size), random, 1.5)[..., None])


def _spectrum(size: int, random: np.random.Generator) -> Picture:
    """Noise between a few colours, with a falling spectrum: cloud, bark, water, stone."""
    noise = _noise((size, size), random, random.uniform(0.8, 2.4), random.uniform(0.3, 3))
    colours = _colours(random, int(random.integers(2, 6)))
    places = np.clip((noise + 2) / 4, 0, 1) * (len(colours) - 1)
    low = np.minimum(places.astype(int), len(colours) - 2)
    return colours[low] + (colours[low + 1] - colours[low]) * (places - low)[..., None]


def _bodies(size: int, random: np.random.Generator) -> Picture:
    """A few smooth, lit ellipsoids before a soft ground: fruit, faces, pebbles."""
    colours = _colours(random, 8)
    image = _graded(size, random, colours)
    image *= 1 + 0.2 * _noise((size, size), random, 2.2)[..., None]
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    for _ in range(int(random.integers(1, 9))):
        centre, radii = random.uniform(0, size, 2), random.uniform(0.06, 0.35, 2) * size
        turn, light = random.uniform(0, math.pi, 2)
        u = ((x - centre[0]) * math.cos(turn) + (y - centre[1]) * math.sin(turn)) / radii[0]
        v = ((y - centre[1]) * math.cos(turn) - (x - centre[0]) * math.sin(turn)) / radii[1]
        inside = np.clip((1 - u**2 - v**2) * min(radii) / 3, 0, 1)
        height = np.sqrt(np.clip(1 - u**2 - v**2, 0, 1))
        lit = 0.35 + 0.65 * np.clip(0.6 * height + 0.5 * (u * math.cos(light) - v), 0, 1)
        colour = colours[random.integers(len(colours))]
        image += inside[..., None] * (colour * lit[..., None] - image)
    return image


def _sky(size: int, random: np.random.Generator) -> Picture:
    """Faint clouds before a soft ground, where a network's regular patterns would show."""
    clouds = random.uniform(0, 0.06) * _noise((size, size), random, 2.4)[..., None]
    return _graded(size, random, _colours(random, 2)) + clouds


KINDS = {
    "leaves": _leaves,
    "landscape": _landscape,
    "houses": _houses,
    "cells": _cells,
    "spectrum": _spectrum,
    "bodies": _bodies,
    "sky": _sky,
}


def picture(size: int, *key: int) -> np.ndarray:
    """A square picture of `size` pixels, uint8 [size, size, 3]; the same bytes for a key."""
    random = np.random.default_rng(key)
    kinds = list(KINDS.values())
    large = kinds[random.integers(len(kinds))](2 * size, random)
    reduced = cv2.resize(large, (size, size), interpolation=cv2.INTER_AREA)
    return np.clip(reduced * 255 + random.normal(0, 1.5, reduced.shape), 0, 255).astype(np.uint8)


def _graded(size: int, random: np.random.Generator, colours: np.ndarray) -> Picture:
    """One colour that turns into another across the picture."""
    y, x = np.mgrid[0:size, 0:size] / size - 0.5
    turn = random.uniform(0, 2 * math.pi)
    share = np.clip(0.5 + x * math.cos(turn) + y * math.sin(turn), 0, 1)[..., None]
    first, second = colours[random.integers(len(colours), size=2)]
    return (first + (second - first) * share).astype(np.float32)


def _colours(
    random: np.random.Generator, count: int, light: tuple[float, float] = (0.02, 1.0)
) -> np.ndarray:
    """float32 [count, 3] around one or two hues; vivid ones are rare, as they are outdoors."""
    hue = random.choice(random.uniform(0, 360, 2), count) + random.normal(0, 25, count)
    vivid = random.beta(1.2, 2.5, count)
    value = random.uniform(*light, count)
    hsv = np.stack([hue % 360, vivid, value], 1).astype(np.float32)[None]
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)[0]


def _noise(
    shape: tuple[int, int], random: np.random.Generator, fall: float, stretch: float = 1.0
) -> np.ndarray:
    """Standardised float32 noise whose amplitudes fall with the frequency to the power `fall`."""
    rows, columns = np.fft.fftfreq(shape[0])[:, None] * stretch, np.fft.rfftfreq(shape[1])[None]
    amplitude = np.maximum(np.hypot(rows, columns), 1 / max(shape)) ** -fall
    phases = np.exp(2j * math.pi * random.random(amplitude.shape))
    field = np.fft.irfft2(amplitude * phases, s=shape)
    return ((field - field.mean()) / (field.std() + 1e-9)).astype(np.float32)

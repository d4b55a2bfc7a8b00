"""Colours of 16 bits from a profile's space to sRGB; Pillow's own conversion knows 8 bits only.

Profiles of cameras, displays and working spaces are a curve for each colour and a matrix
(ICC.1:2022, 8.3.3 and 10.6, 10.18): these are computed here. Tables, as printers have, are not.
"""

import io
import logging
import struct
from collections.abc import Callable

import numpy as np
from PIL import ImageCms

logger = logging.getLogger(__name__)

SRGB = np.array(
    [[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]]
)
"""Of linear sRGB, to XYZ as profiles have it, under D50 (IEC 61966-2-1, adapted by Bradford)."""

Curve = Callable[[np.ndarray], np.ndarray]


def to_srgb(pixels: np.ndarray, profile: bytes) -> np.ndarray:
    """uint16 [H, W, 3] of a profile's colours as those of sRGB.

    With a profile that cannot be used here they stay as they are, and it is told.
    """
    try:
        name = ImageCms.getProfileDescription(ImageCms.ImageCmsProfile(io.BytesIO(profile)))
        if "srgb" in name.lower():  # whose conversion would only add rounding
            return pixels
        curves, matrix = _curves_and_matrix(profile)
    except Exception as error:  # damaged, of tables, or not of RGB
        logger.warning(
            "a colour profile cannot be used with 16 bits and is left out (%s: %s)",
            type(error).__name__,
            error,
        )
        return pixels
    every = np.arange(65536) / 65535
    tables = [curve(every).astype(np.float32) for curve in curves]
    to_linear = (np.linalg.inv(SRGB) @ matrix).astype(np.float32)
    converted = np.empty_like(pixels)
    for row, colours in enumerate(pixels):  # a row at a time: floats are twice as large
        linear = np.stack([table[colours[:, n]] for n, table in enumerate(tables)], 1)
        encoded = _encoded(np.clip(linear @ to_linear.T, 0, 1))
        converted[row] = np.rint(encoded * 65535)
    return converted


def _encoded(linear: np.ndarray) -> np.ndarray:
    """Linear light in sRGB's curve."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _curves_and_matrix(profile: bytes) -> tuple[list[Curve], np.ndarray]:
    """A curve for each of red, green and blue, and their matrix to XYZ, [3, 3]."""
    if profile[16:20] != b"RGB ":
        raise ValueError(f"its colours are {profile[16:20].decode('ascii', 'replace')}")
    count = struct.unpack(">I", profile[128:132])[0]
    tags = {}
    for number in range(count):
        tag, start, length = struct.unpack(">4sII", profile[132 + 12 * number :][:12])
        tags[tag] = profile[start : start + length]
    if b"A2B0" in tags:
        raise ValueError("it is made of tables")
    columns = [
        np.array(struct.unpack(">3i", tags[c + b"XYZ"][8:20])) / 65536 for c in (b"r", b"g", b"b")
    ]
    return [_curve(tags[c + b"TRC"]) for c in (b"r", b"g", b"b")], np.stack(columns, 1)


def _curve(tag: bytes) -> Curve:
    """From stored values in [0, 1] to linear light."""
    if tag[:4] == b"curv":
        count = struct.unpack(">I", tag[8:12])[0]
        values = np.frombuffer(tag, ">u2", count, 12).astype(float)
        if count > 1:
            points = np.linspace(0, 1, count)
            return lambda x: np.interp(x, points, values / 65535)
        gamma = values[0] / 256 if count else 1.0
        return lambda x: x**gamma
    if tag[:4] != b"para":
        raise ValueError(f"a curve of the kind {tag[:4]!r}")
    kind = struct.unpack(">H", tag[8:10])[0]
    numbers = (1, 3, 4, 5, 7)[kind]
    g, a, b, c, d, e, f = _parameters(
        kind, [value / 65536 for value in struct.unpack(f">{numbers}i", tag[12 : 12 + 4 * numbers])]
    )
    return lambda x: np.where(x >= d, np.maximum(a * x + b, 0) ** g + e, c * x + f)


def _parameters(kind: int, given: list[float]) -> list[float]:
    """g, a, b, c, d, e and f of the fullest kind: (ax + b)^g + e from d on, below it cx + f."""
    if kind == 0:
        return [given[0], 1, 0, 0, 0, 0, 0]
    if kind == 1:
        return [*given, 0, -given[2] / given[1], 0, 0]
    if kind == 2:
        return [*given[:3], 0, -given[2] / given[1], given[3], given[3]]
    if kind == 3:
        return [*given, 0, 0]
    return given

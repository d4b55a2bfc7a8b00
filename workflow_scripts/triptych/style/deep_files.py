"""PNG and TIFF files of 16 bits a colour, which Pillow cuts to 8: read and written by OpenCV.

No PyTorch. Arrays are uint16 [H, W, 3 or 4], RGB or RGBA.
"""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from triptych.core.errors import InputError
from triptych.style.image_files import DEEP
from triptych.style.profiles import to_srgb

ORIENTATION = 0x0112
BITS_PER_SAMPLE, SAMPLE_FORMAT = 258, 339

LARGEST = 65535
"""Of 16 bits."""

UPRIGHT = {
    2: lambda stored: stored[:, ::-1],
    3: lambda stored: stored[::-1, ::-1],
    4: lambda stored: stored[::-1],
    5: lambda stored: stored.transpose(1, 0, 2),
    6: lambda stored: np.rot90(stored, -1),
    7: lambda stored: stored[::-1, ::-1].transpose(1, 0, 2),
    8: lambda stored: np.rot90(stored),
}
"""By EXIF orientation."""


def depth_of(path: str | os.PathLike[str]) -> int:
    """Bits a colour that a sound image file is worth to be written with: 16 or 8."""
    with Image.open(path) as image:
        return 16 if image.mode in DEEP or _has_16_bits(image) else 8


def deep_pixels(path: str | os.PathLike[str]) -> np.ndarray | None:
    """A file's colours of 16 bits, upright and in sRGB by its profile; None for any other file.

    Raises InputError for one that OpenCV doesn't read.
    """
    with Image.open(path) as image:
        if not _has_16_bits(image):
            return None
        # OpenCV turns a TIFF by itself, and a PNG only where it also cuts it to 8 bits.
        orientation = image.getexif().get(ORIENTATION, 1) if image.format == "PNG" else 1
        profile = image.info.get("icc_profile")
    import cv2  # here and below: most jobs never see such a file

    stored = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    if stored is None or stored.dtype != np.uint16 or stored.ndim != 3:
        raise InputError(
            f"{Path(path)}: 16 bits a colour in a way that is not read here. Save it as a PNG or "
            "TIFF of RGB, or with 8 bits."
        )
    colours = stored[..., [2, 1, 0, 3][: stored.shape[2]]]
    pixels = UPRIGHT.get(orientation, lambda whole: whole)(colours)
    if profile:
        pixels = pixels.copy()
        pixels[..., :3] = to_srgb(pixels[..., :3], profile)
    return np.ascontiguousarray(pixels)


def deep_bytes(pixels: np.ndarray, suffix: str) -> bytes:
    """A PNG's or TIFF's bytes."""
    import cv2

    order = [2, 1, 0, 3][: pixels.shape[2]]
    done, encoded = cv2.imencode(suffix, np.ascontiguousarray(pixels[..., order]))
    assert done
    return encoded.tobytes()


def _has_16_bits(image: Image.Image) -> bool:
    """Whether a file that was opened and not yet decoded has colours of 16 bits."""
    if image.mode not in ("RGB", "RGBA"):
        return False
    if image.format == "PNG":
        parts = image.tile  # type: ignore[attr-defined]
        return any("16" in str(part[3]) for part in parts)
    if image.format == "TIFF":
        tags = image.tag_v2  # type: ignore[attr-defined]
        whole = set(tags.get(SAMPLE_FORMAT, (1,))) == {1}
        return whole and set(tags.get(BITS_PER_SAMPLE, ())) == {16}
    return False

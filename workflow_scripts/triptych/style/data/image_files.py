"""Image files: which there are, decoded upright and in sRGB by Pillow. No PyTorch."""

import io
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageCms, ImageOps

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, not_a_file

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""What `write_image` writes, by suffix."""

SUFFIXES = {*FORMATS, ".avif", ".bmp", ".gif", ".jfif", ".ppm"}
"""What `image_files` takes for an image, in lower case."""

NOT_READ = {".heic", ".heif"}
"""Photographs of telephones that nothing here decodes: taken for images so that each is told."""

ANIMATED = {"GIF", "WEBP", "PNG", "AVIF", "TIFF"}
"""Formats whose several frames or pages are the image; JPEGs hide previews behind the first."""

DEEP = {"I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
"""Pillow's grey modes of more than 8 bits, which its conversions would clip."""

EXPECTED = (
    "Expected a whole JPEG, PNG, WebP, TIFF, BMP or GIF file, not a telephone's HEIC: convert it, "
    "or fetch it again."
)


def image_files(folder: str | os.PathLike[str], *, recursive: bool = False) -> list[Path]:
    """The images in a folder (and, if asked, below it) by suffix, in order of their paths.

    Hidden files are left out; folders that are not looked into are told. Raises InputError when
    `folder` isn't a folder.
    """
    where = Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: expected a folder of images, and there is no such folder")
    found = sorted(where.rglob("*") if recursive else where.iterdir())
    found = [path for path in found if not path.name.startswith(".")]
    for path in found:
        if path.is_dir() and (path.is_symlink() or not recursive):
            kind = "linked folder" if path.is_symlink() else "folder"
            logger.warning("%s: a %s, not looked into; name it itself for its images", path, kind)
    return [
        path
        for path in found
        if path.suffix.lower() in SUFFIXES | NOT_READ and (path.is_file() or not_a_file(path))
    ]


def open_image(
    source: str | os.PathLike[str] | bytes, name: str = "", at_least: int | None = None
) -> Image.Image:
    """The image of a file, or of a file's bytes called `name`, fully decoded and upright.

    With `at_least`, a JPEG may come at a part of its size, so long as both sides keep that many
    pixels. Raises InputError for what is absent, damaged or no image.
    """
    what = name or ("an image in memory" if isinstance(source, bytes) else str(Path(source)))
    stream: BinaryIO | Path
    if isinstance(source, bytes):
        stream = io.BytesIO(source)
    else:
        stream = Path(source)
        if not stream.exists():
            raise InputError(f"{what}: no such file; expected an image")
        if stream.is_dir():
            raise InputError(f"{what} is a folder; expected an image file")
        if odd := not_a_file(stream):
            raise InputError(f"{what} is {odd}")
    try:
        with Image.open(stream) as image:
            _tell_of_frames(image, what)
            if at_least is not None:
                image.draft(None, (at_least, at_least))
            image.load()
            if image.mode == "F" and not np.isfinite(np.asarray(image)).all():
                raise InputError(f"{what}: holds NaN or infinity; expected numbers in [0, 1]")
            return _upright(image, what)
    except InputError:
        raise
    except Exception as error:  # Pillow raises many kinds for a damaged file
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, Image.UnidentifiedImageError):  # whose text has a memory address
            why = "of no known format"
        if isinstance(error, Image.DecompressionBombError):
            why = "more pixels than are read at once: make it smaller"
        raise InputError(f"{what} cannot be read as an image ({why}). {EXPECTED}") from error


def _tell_of_frames(image: Image.Image, what: str) -> None:
    try:
        count = getattr(image, "n_frames", 1) if image.format in ANIMATED else 1
    except Exception:  # a later frame is damaged: no reason to refuse the first
        return
    if count > 1:
        logger.warning("%s: the first of its %d frames or pages is taken", what, count)


def _upright(image: Image.Image, what: str) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception as error:  # a damaged EXIF block is no reason to refuse a sound image
        logger.warning("%s: its EXIF orientation cannot be read (%s)", what, error)
        return image.copy()


def srgb(image: Image.Image) -> Image.Image:
    """The image in sRGB, by its embedded profile if it has a usable one."""
    profile = image.info.get("icc_profile")
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            # Converting sRGB to itself would only add rounding.
            if "srgb" not in ImageCms.getProfileDescription(source).lower():
                if image.mode == "P":
                    image = image.convert("RGB")
                converted = ImageCms.profileToProfile(
                    image, source, ImageCms.createProfile("sRGB"), outputMode="RGB"
                )
                return image if converted is None else converted
        except Exception as error:  # nor is a damaged profile
            logger.warning("a colour profile cannot be used and is left out (%s)", error)
    return image.convert("RGB")


def bytes_of(pixels: np.ndarray) -> np.ndarray:
    """Floats in [0, 1] as uint8 of the same shape: clamped, times 255, rounded to the nearest."""
    return np.rint(np.clip(pixels, 0, 1) * np.float32(255)).astype(np.uint8)


LUMA = (0.299, 0.587, 0.114)
"""ITU-R BT.601, of which JPEG's and video's colours are made."""

Pixels = TypeVar("Pixels", np.ndarray, "Tensor")


def luma(images: Pixels) -> Pixels:
    """Brightness [..., H, W] of images [..., 3, H, W], as television weighs the colours."""
    red, green, blue = (images[..., channel, :, :] for channel in range(3))
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def keep_colours(photographs: Pixels, stylised: Pixels) -> Pixels:
    """The photographs' colours with the results' lightness, [..., 3, H, W] in [0, 1].

    The same step added to red, green and blue changes luma only, not the chroma of YCbCr.
    """
    return (photographs + luma(stylised - photographs)[..., None, :, :]).clip(0, 1)


QUALITY = 95
"""Of JPEG and WebP, of 100."""

OPTIONS: dict[str, dict[str, Any]] = {
    # Chroma at full resolution: coloured brush strokes are what these images are about.
    "JPEG": {"quality": QUALITY, "subsampling": 0},
    "WEBP": {"quality": QUALITY},
    "TIFF": {"compression": "tiff_lzw"},
}

Planes = np.ndarray
"""float32, [3, H, W] (RGB) or [1, H, W] (opacity), in [0, 1]."""


def planes(image: Image.Image) -> tuple[Planes, Planes | None]:
    """Pillow's image, of any mode, as RGB [3, H, W] and opacity [1, H, W] or None."""
    if image.mode in DEEP:
        return _deep_grey(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        alpha = _scaled(np.asarray(image.getchannel("A"))[:, :, None])
        rgb = _scaled(np.asarray(srgb(image.convert("RGB"))))
        return np.where(alpha > 0, rgb, np.float32(1)), alpha
    return _scaled(np.asarray(srgb(image))), None


def _deep_grey(image: Image.Image) -> tuple[Planes, Planes | None]:
    """Grey of 16 bits, which Pillow would clip to 8, or of floats in [0, 1]."""
    values = np.asarray(image)
    grey = values.astype(np.float32) / np.float32(1 if image.mode == "F" else 65535)
    rgb = np.repeat(np.clip(grey, 0, 1)[None], 3, 0)
    key = image.info.get("transparency")
    if not isinstance(key, int):
        return rgb, None
    alpha = (values != key).astype(np.float32)[None]
    return np.where(alpha > 0, rgb, np.float32(1)), alpha


def _scaled(pixels: np.ndarray) -> Planes:
    """uint8 [H, W, C] as float32 [C, H, W] in [0, 1]."""
    return pixels.transpose(2, 0, 1).astype(np.float32, order="C") / np.float32(255)


def write_planes(path: str | os.PathLike[str], rgb: Planes, alpha: Planes | None = None) -> None:
    """Write [3, H, W] in [0, 1] as PNG, JPEG, WebP or TIFF, whichever the suffix says.

    Values outside [0, 1] are clamped, the others rounded. `alpha` [1, H, W] is kept by all but
    JPEG, which has none and shows white there. The file appears whole or not at all. Raises
    InputError for another suffix or NaN.
    """
    target = Path(path)
    form = FORMATS.get(target.suffix.lower())
    if form is None:
        raise InputError(
            f"{target}: the suffix {target.suffix or '(none)'} names no format that is written; "
            f"expected {', '.join(FORMATS)}"
        )
    if alpha is not None and form == "JPEG":
        rgb, alpha = rgb * alpha + (1 - alpha), None
    whole = rgb if alpha is None else np.concatenate([rgb, alpha])
    if not np.isfinite(whole).all():
        raise InputError(f"{target}: the image holds NaN or infinity; expected numbers in [0, 1]")
    pixels = np.ascontiguousarray(bytes_of(whole).transpose(1, 2, 0))
    with atomic_path(target) as temporary:
        Image.fromarray(pixels).save(temporary, format=form, **OPTIONS.get(form, {}))


def shape_along(height: int, width: int, shorter: int) -> tuple[int, int]:
    """Height and width, both scaled alike, with `shorter` pixels along the shorter side."""
    if height <= width:
        return shorter, max(1, round(width * shorter / height))
    return max(1, round(height * shorter / width)), shorter

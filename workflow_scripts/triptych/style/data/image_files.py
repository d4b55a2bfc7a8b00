"""Image files: which there are, decoded upright and in sRGB by Pillow. No PyTorch."""

import io
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageCms, ImageOps, PngImagePlugin

from triptych.core.errors import InputError
from triptych.core.files import atomic_path, is_hidden, not_a_file
from triptych.style.data.missing import KEY as MISSING
from triptych.style.data.sample_values import (
    MOST_PIXELS,
    ORIENTATION,
    bytes_of,
    check_pixels,
    in_srgb,
    pfm_image,
    tiff_image,
)
from triptych.style.metadata import details_of, save_options

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

LONGEST = {"JPEG": 65_500, "WEBP": 16_383}
"""Pixels along a side that a format's encoder takes at most."""

READ = ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "AVIF", "PPM", "JPEG2000", "ICO"]
"""Pillow's formats that are read. Its others include films, EPS and files of data."""

MOST_REDUCED = 500_000_000
"""Pixels of an image that is decoded to be made smaller at once."""

Image.MAX_IMAGE_PIXELS = None  # Pillow's own limit knows nothing of reduced decoding
PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY  # one text may be all of them

SUFFIXES = {*FORMATS, ".avif", ".bmp", ".gif", ".jfif", ".mpo", ".ppm"}
"""What `image_files` takes for an image, in lower case."""

HEIF = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
"""Brands in the first bytes of HEIC photographs, whose tiles FFmpeg would take for a film."""

RAW = {".arw", ".cr2", ".cr3", ".dng", ".nef", ".orf", ".pef", ".raf", ".rw2", ".srw"}
"""Raw photographs of cameras. Some open as TIFF, and show a thumbnail there."""

NOT_READ = {".heic", ".heif", *RAW}
"""Photographs that nothing here decodes: taken for images so that each is named."""

PREVIEW = 1
"""The bit of a TIFF's NewSubfileType that marks a reduced copy of another image."""

ANIMATED = {"GIF", "WEBP", "PNG", "AVIF", "TIFF"}
"""Formats whose several frames or pages are the image; JPEGs hide previews behind the first."""

SUBFILE_TYPE = 254
"""TIFF's tag NewSubfileType."""

BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"PF\n", b"PF\r", b"PF ")
"""First bytes of TIFF and of portable float maps in colour, which Pillow reads in part."""

JPEG_END = b"\xff\xd9"

ABOUT = "triptych-about"
"""Key in an image's `info` of what `write_planes` is to keep: options of Pillow's `save`."""

EXPECTED = (
    "Expected a whole JPEG, PNG, WebP, TIFF, BMP, GIF, AVIF, PPM, PFM, JPEG 2000 or ICO file: "
    "convert it, or fetch it again."
)


HIDDEN = "hidden, or in folders of a system"


def image_files(folder: str | os.PathLike[str], *, recursive: bool = False) -> list[Path]:
    """The images in a folder (and, if asked, below it) by suffix, in order of their paths.

    Hidden files and folders are left out, and so are links to an image that is listed already;
    warnings name folders that are not searched. Raises InputError when `folder` isn't a folder.
    """
    where = Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: expected a folder of images, and there is no such folder")
    images: dict[Path, Path] = {}
    left_out = Counter[str]()
    for path in sorted(where.rglob("*") if recursive else where.iterdir()):
        if is_image_name(path) and not path.is_dir():
            if is_hidden(path.relative_to(where)):
                left_out[HIDDEN] += 1
            elif images.setdefault(path.resolve(), path) != path:
                left_out["links to others"] += 1
        elif not path.is_dir() or is_hidden(path.relative_to(where)):
            continue
        elif path.is_symlink() or not recursive:
            kind = "linked folder" if path.is_symlink() else "folder"
            logger.warning("%s: a %s, not looked into; name it itself", path, kind)
    tell_left_out(where, left_out)
    return list(images.values())


def tell_left_out(where: Path, counts: Mapping[str, int]) -> None:
    """Warn of the images of a folder or archive that are left out, by reason."""
    for reason, count in counts.items():
        if count:
            logger.warning("%s: images left out: %d, %s", where, count, reason)


def is_image_name(path: PurePath) -> bool:
    """Whether a path's suffix is an image's, be it one that is refused."""
    return path.suffix.lower() in SUFFIXES | NOT_READ


def is_image(path: Path) -> bool:
    """Whether a file's first bytes are those of a photograph, be it one that is refused."""
    try:
        with path.open("rb") as stream:
            start = stream.read(12)
            if _is_heif(start) or start.startswith(BEGINNINGS):
                return True
            stream.seek(0)
            Image.open(stream, formats=READ).close()
    except Exception:  # Pillow raises many kinds for what it doesn't know
        return False
    return True


def _is_heif(start: bytes) -> bool:
    """Whether a file's first 12 bytes are those of a HEIC photograph."""
    return start[4:8] == b"ftyp" and start[8:12] in HEIF


def size_of(path: Path) -> tuple[int, int]:
    """Height and width of an image file, upright, by its header. Raises InputError."""
    try:
        with path.open("rb") as stream, Image.open(stream, formats=READ) as image:
            turned = image.getexif().get(ORIENTATION, 1) >= 5
            return (image.width, image.height) if turned else (image.height, image.width)
    except Exception as error:
        raise InputError(f"{path} is no image: {type(error).__name__}") from error


def open_image(
    source: str | os.PathLike[str] | bytes,
    name: str = "",
    at_least: int | None = None,
    shorter: int | None = None,
) -> Image.Image:
    """The image of a file, or of a file's bytes called `name`, fully decoded and upright.

    at_least: a JPEG may come at a part of its size, so long as both sides keep that many pixels
    shorter: pixels along the shorter side that the caller makes of it; an image of more than
    MOST_PIXELS is then reduced to some two to four times as many, and refused otherwise

    Raises InputError for what is absent, damaged or no image.
    """
    what = name or ("an image in memory" if isinstance(source, bytes) else str(Path(source)))
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else _opened(Path(source)) as stream:
            return _decoded(stream, what, at_least, shorter)
    except InputError:
        raise
    except Exception as error:  # Pillow raises many kinds for a damaged file
        why = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        if isinstance(error, Image.UnidentifiedImageError):  # whose text has a memory address
            why = "of no known format"
        raise InputError(f"{what} cannot be read as an image ({why}). {EXPECTED}") from error


def _opened(path: Path) -> BinaryIO:
    """An image file as a stream: by its name Pillow would map an uncompressed TIFF into memory,
    whose rows it then exchanges wrongly where the orientation turns it (Pillow#8554)."""
    if not path.exists():
        raise InputError(f"{path}: no such file; expected an image")
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected an image file")
    if odd := not_a_file(path):
        raise InputError(f"{path} is {odd}")
    if path.suffix.lower() in RAW:
        raise InputError(_raw(str(path)))
    return path.open("rb")


def _raw(what: str) -> str:
    return f"{what} is a raw photograph of a camera; develop it first, to JPEG, PNG or TIFF"


def _decoded(stream: BinaryIO, what: str, at_least: int | None, shorter: int | None) -> Image.Image:
    try:
        with Image.open(stream, formats=READ) as image:
            return _finished(image, stream, what, at_least, shorter)
    except Image.UnidentifiedImageError:
        stream.seek(0)
        start = stream.read(12)
        if _is_heif(start):
            raise InputError(f"{what} is a HEIC photograph: convert it to JPEG") from None
        if not start.startswith(BEGINNINGS):
            raise
        read = pfm_image if start.startswith(b"PF") else tiff_image
        return _upright(read(stream, what), what)
    except OSError:
        whole = _with_end(stream)
        if whole is None:
            raise
        logger.warning("%s: a JPEG without its end, though with all of its picture", what)
        return _decoded(io.BytesIO(whole), what, at_least, shorter)


def _with_end(stream: BinaryIO) -> bytes | None:
    """A JPEG file with the end marker that it lacks; None where some of its picture is cut off,
    too: other bytes in place of the missing ones then give another picture."""
    stream.seek(0)
    content = stream.read().removesuffix(JPEG_END[:1])
    try:
        pixels, others = (
            np.asarray(Image.open(io.BytesIO(content + filling + JPEG_END), formats=["JPEG"]))
            for filling in (b"", b"\x55" * 64)
        )
    except Exception:  # no JPEG, or damaged otherwise
        return None
    return content + JPEG_END if np.array_equal(pixels, others) else None


def _finished(
    image: Image.Image, stream: BinaryIO, what: str, at_least: int | None, shorter: int | None
) -> Image.Image:
    """An opened image decoded, in sRGB, upright, and reduced as `open_image` says."""
    if reason := image.info.get(MISSING):
        raise InputError(f"{what} is missing: {reason}")
    tags = getattr(image, "tag_v2", {})
    if tags.get(SUBFILE_TYPE, 0) & PREVIEW:
        raise InputError(_raw(what))
    _tell_of_frames(image, what)
    large = image.width * image.height > MOST_PIXELS
    if large and shorter is not None:
        at_least = 2 * shorter
    if at_least is not None:
        image.draft(None, (at_least, at_least))
    check_pixels(*image.size, what, MOST_REDUCED if large and shorter else MOST_PIXELS)
    image.load()
    about = details_of(image, what)
    upright = _upright(in_srgb(image, stream, what), what)
    if large and shorter is not None:
        upright = made_smaller(upright, 2 * shorter)
    upright.info[ABOUT] = about
    return upright


def made_smaller(image: Image.Image, at_least: int) -> Image.Image:
    """An image divided by a whole number, with both sides of `at_least` pixels."""
    factor = min(image.size) // at_least
    if factor < 2:
        return image
    if image.mode in ("1", "P", "PA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    return image.reduce(factor)


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


PROBE = Image.fromarray(
    np.stack(np.meshgrid(*[np.linspace(0, 255, 17)] * 3), -1).reshape(1, -1, 3).astype(np.uint8)
)
"""Colours all over the cube, grey among them."""


def srgb(image: Image.Image) -> Image.Image:
    """The image in sRGB, RGB of 8 bits, by its embedded profile if it has a usable one."""
    convert = _to_srgb(image.info.get("icc_profile"), "RGB" if image.mode == "P" else image.mode)
    if convert is None:
        return image.convert("RGB")
    return convert(image.convert("RGB") if image.mode == "P" else image)


def _to_srgb(profile: bytes | None, mode: str) -> Callable[[Image.Image], Image.Image] | None:
    """Converter of images of a mode from a profile to sRGB; None where nothing is to be done.

    A profile that moves no colour of PROBE by more than a level is sRGB's, whatever its name:
    converting would only add rounding.
    """
    if not profile:
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
    except Exception as error:  # a damaged profile is no reason to refuse a sound image
        logger.warning("a colour profile cannot be used and is left out (%s)", error)
        return None

    if mode in ("L", "RGB"):
        probe = PROBE.convert(mode)
        moved = np.asarray(transform.apply(probe)).astype(int) - np.asarray(probe.convert("RGB"))
        if np.abs(moved).max() <= 1:
            return None
    return transform.apply


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
"""Quality of JPEG and WebP, 0 to 100."""

OPTIONS: dict[str, dict[str, Any]] = {
    # Chroma at full resolution: coloured brush strokes are what these images are about.
    "JPEG": {"quality": QUALITY, "subsampling": 0},
    "WEBP": {"quality": QUALITY},
    "TIFF": {"compression": "tiff_lzw"},
}

Planes = np.ndarray
"""float32, [3, H, W] (RGB) or [1, H, W] (opacity), in [0, 1]."""


def planes(image: Image.Image) -> tuple[Planes, Planes | None]:
    """An image of `open_image`, of any mode, as RGB [3, H, W] and opacity [1, H, W] or None."""
    if image.mode == "F":
        return _grey(image), None
    if image.has_transparency_data:
        with_alpha = image.convert("RGBA")
        alpha = _scaled(np.asarray(with_alpha.getchannel("A"))[:, :, None])
        opaque = image.getchannel("L") if image.mode == "LA" else with_alpha.convert("RGB")
        opaque.info["icc_profile"] = image.info.get("icc_profile")
        rgb = _scaled(np.asarray(srgb(opaque)))
        return np.where(alpha > 0, rgb, np.float32(1)), alpha
    return _scaled(np.asarray(srgb(image))), None


def _grey(image: Image.Image) -> Planes:
    """RGB of grey in [0, 1] of more than 8 bits."""
    grey = np.asarray(image)
    if convert := _to_srgb(image.info.get("icc_profile"), "L"):
        # Of the profile's curve there are 256 points: Pillow has no transform of deeper grey.
        curve = np.asarray(convert(Image.fromarray(np.arange(256, dtype=np.uint8)[None])))[0, :, 0]
        grey = np.interp(grey * 255, np.arange(256), curve / 255).astype(np.float32)
    return np.repeat(grey[None], 3, 0)


def _scaled(pixels: np.ndarray) -> Planes:
    """uint8 [H, W, C] as float32 [C, H, W] in [0, 1]."""
    return pixels.transpose(2, 0, 1).astype(np.float32, order="C") / np.float32(255)


def check_target(path: str | os.PathLike[str], height: int, width: int) -> str:
    """The format of an image file that is to be written, by its suffix.

    Raises InputError for a suffix of no such format, and for sides that the format hasn't room for.
    """
    target = Path(path)
    form = FORMATS.get(target.suffix.lower())
    if form is None:
        raise InputError(
            f"{target}: the suffix {target.suffix or '(none)'} names no format that is written; "
            f"expected {', '.join(FORMATS)}"
        )
    longest = LONGEST.get(form)
    if longest is not None and max(height, width) > longest:
        raise InputError(
            f"{target}: {width}x{height} pixels; {form} holds at most {longest} along a side: "
            "write .png or .tif, or make it smaller"
        )
    return form


def write_planes(
    path: str | os.PathLike[str],
    rgb: Planes,
    alpha: Planes | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write [3, H, W] in [0, 1] as PNG, JPEG, WebP or TIFF, whichever the suffix says.

    Values outside [0, 1] are clamped, the others rounded. `alpha` [1, H, W] is kept by all but
    JPEG, which has none and shows white there; `about` (`info[ABOUT]` of the photograph) where the
    format has room. The file appears whole or not at all. Raises InputError for another suffix or
    NaN.
    """
    target = Path(path)
    form = check_target(target, *rgb.shape[1:])
    if alpha is not None and form == "JPEG":
        rgb, alpha = rgb * alpha + (1 - alpha), None
    whole = rgb if alpha is None else np.concatenate([rgb, alpha])
    if not np.isfinite(whole).all():
        raise InputError(f"{target}: the image holds NaN or infinity; expected numbers in [0, 1]")
    pixels = np.ascontiguousarray(bytes_of(whole).transpose(1, 2, 0))
    with atomic_path(target) as temporary:
        options = OPTIONS.get(form, {}) | save_options(about or {}, form, target)
        Image.fromarray(pixels).save(temporary, format=form, **options)


def shape_along(height: int, width: int, shorter: int) -> tuple[int, int]:
    """Height and width, both scaled alike, with `shorter` pixels along the shorter side."""
    if height <= width:
        return shorter, max(1, round(width * shorter / height))
    return max(1, round(height * shorter / width)), shorter

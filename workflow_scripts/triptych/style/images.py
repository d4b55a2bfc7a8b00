"""Images as tensors: read upright and in sRGB, resized, and written with rounding.

Everywhere in the style study an image is float32, [3, H, W] or [N, 3, H, W], RGB, in [0, 1].
"""

import io
import logging
import os
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import torch
from PIL import Image, ImageCms, ImageOps
from torch import Tensor
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

logger = logging.getLogger(__name__)

Aspect = Literal["kept", "squashed"]

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
"""What `write_image` writes, by suffix."""

SUFFIXES = {*FORMATS, ".avif", ".bmp", ".gif", ".jfif", ".ppm", ".tif", ".tiff"}
"""What `image_files` takes for an image, in lower case."""

DEEP = {"I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
"""Pillow's grey modes of more than 8 bits, which its conversions would clip."""

EXPECTED = (
    "Expected a whole JPEG, PNG, WebP, TIFF, BMP or GIF file: open it in a viewer, or fetch it "
    "again."
)


def image_files(folder: str | os.PathLike[str], *, recursive: bool = False) -> list[Path]:
    """The images in a folder (and, if asked, below it) by suffix, in order of their paths.

    Hidden files are left out. Raises InputError when `folder` isn't a folder.
    """
    where = Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: expected a folder of images, and there is no such folder")
    found = where.rglob("*") if recursive else where.iterdir()
    return sorted(
        path
        for path in found
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )


def read_image(path: str | os.PathLike[str]) -> Tensor:
    """The image as [3, H, W]; what is transparent shows white.

    Upright by its EXIF orientation, and of an animation the first frame. Grey, palette, 16-bit and
    CMYK images become RGB, and an embedded colour profile is converted to sRGB. Raises InputError
    for a file that is absent, damaged or no image.
    """
    rgb, alpha = read_image_alpha(path)
    return rgb if alpha is None else on_white(rgb, alpha)


def read_image_alpha(path: str | os.PathLike[str]) -> tuple[Tensor, Tensor | None]:
    """The image as [3, H, W] and its opacity [1, H, W], None where it has none.

    Colours aren't multiplied by the opacity; where that is zero, and files hold anything, they
    are white. Otherwise as `read_image`.
    """
    return image_tensors(open_image(path))


def open_image(
    source: str | os.PathLike[str] | bytes, name: str = "", at_least: int | None = None
) -> Image.Image:
    """The image of a file, or of a file's bytes called `name`, fully decoded and upright.

    With `at_least`, a JPEG may come at a half, a quarter or an eighth of its size, which decodes
    faster, so long as both sides keep that many pixels. Raises InputError for what is absent,
    damaged or no image.
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
    try:
        with Image.open(stream) as image:
            if at_least is not None:
                image.draft(None, (at_least, at_least))
            image.load()
            if image.mode == "F" and not np.isfinite(np.asarray(image)).all():
                raise InputError(f"{what}: holds NaN or infinity; expected numbers in [0, 1]")
            return _upright(image, what)
    except InputError:
        raise
    except Image.UnidentifiedImageError as error:
        # Pillow's own text has a memory address in it, which would differ from run to run.
        raise InputError(
            f"{what} cannot be read as an image (of no known format). {EXPECTED}"
        ) from error
    except Image.DecompressionBombError as error:
        raise InputError(
            f"{what} claims more pixels than are read at once ({error}). Make it smaller."
        ) from error
    except Exception as error:  # Pillow raises many kinds for a damaged file
        raise InputError(
            f"{what} cannot be read as an image ({type(error).__name__}: {error}). {EXPECTED}"
        ) from error


def _upright(image: Image.Image, what: str) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception as error:  # a damaged EXIF block is no reason to refuse a sound image
        logger.warning("%s: its EXIF orientation cannot be read (%s)", what, error)
        return image.copy()


def image_tensors(image: Image.Image) -> tuple[Tensor, Tensor | None]:
    """Pillow's image, of any mode, as RGB [3, H, W] and opacity [1, H, W] or None."""
    if image.mode in DEEP:
        return _deep_grey(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        alpha = _scaled(np.asarray(image.getchannel("A"))[:, :, None])
        rgb = _scaled(np.asarray(_rgb(image.convert("RGB"))))
        return torch.where(alpha > 0, rgb, torch.ones(())), alpha
    return _scaled(np.asarray(_rgb(image))), None


def opaque(image: Image.Image) -> Image.Image:
    """Pillow's image, of any mode, as RGB of 8 bits; what is transparent shows white."""
    if image.mode in DEEP or image.has_transparency_data:
        rgb, alpha = image_tensors(image)
        return pil_image(rgb if alpha is None else on_white(rgb, alpha))
    return _rgb(image)


def on_white(rgb: Tensor, alpha: Tensor) -> Tensor:
    """[..., 3, H, W] laid over white with opacity [..., 1, H, W]."""
    return rgb * alpha + (1 - alpha)


def _deep_grey(image: Image.Image) -> tuple[Tensor, Tensor | None]:
    """Grey of 16 bits, which Pillow would clip to 8, or of floats in [0, 1]."""
    values = np.asarray(image)
    grey = values.astype(np.float32) / np.float32(1 if image.mode == "F" else 65535)
    rgb = torch.from_numpy(np.clip(grey, 0, 1)).expand(3, -1, -1)
    key = image.info.get("transparency")
    if not isinstance(key, int):
        return rgb.contiguous(), None
    alpha = torch.from_numpy((values != key).astype(np.float32))[None]
    return torch.where(alpha > 0, rgb, torch.ones(())), alpha


def _scaled(pixels: np.ndarray) -> Tensor:
    """uint8 [H, W, C] as float32 [C, H, W] in [0, 1]."""
    planes = torch.from_numpy(np.array(pixels.transpose(2, 0, 1), order="C"))
    return planes.float().div_(255)


def _rgb(image: Image.Image) -> Image.Image:
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
    if image.mode == "LAB":  # which Pillow's own conversion doesn't know
        lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
        assert converted is not None  # it is converted in place only if that is asked for
        return converted
    return image.convert("RGB")


def to_bytes(images: Tensor) -> Tensor:
    """uint8 of the same shape: clamped to [0, 1], times 255, rounded to the nearest.

    Raises InputError for values that aren't finite.
    """
    if not bool(torch.isfinite(images).all()):
        raise InputError("an image holds NaN or infinity; expected numbers in [0, 1]")
    return images.detach().clamp(0, 1).mul(255).round().to(torch.uint8)


def pil_image(image: Tensor, alpha: Tensor | None = None) -> Image.Image:
    """[3, H, W] in [0, 1], with opacity [1, H, W] if there is one, as Pillow's RGB or RGBA."""
    planes = image if alpha is None else torch.cat([image, alpha.to(image)])
    return Image.fromarray(to_bytes(planes).permute(1, 2, 0).contiguous().cpu().numpy())


def write_image(
    path: str | os.PathLike[str], image: Tensor, alpha: Tensor | None = None, quality: int = 95
) -> None:
    """Write [3, H, W] in [0, 1] as PNG, JPEG or WebP, whichever the suffix says.

    Values outside [0, 1] are clamped, the others rounded. `alpha` [1, H, W] is kept by PNG and
    WebP; JPEG has none and shows white there. `quality` is for JPEG and WebP. The file appears
    whole or not at all. Raises InputError for another suffix, shape or NaN.
    """
    target = Path(path)
    form = FORMATS.get(target.suffix.lower())
    if form is None:
        raise InputError(
            f"{target}: the suffix {target.suffix or '(none)'} names no format that is written; "
            f"expected {', '.join(FORMATS)}"
        )
    if image.dim() != 3 or image.shape[0] != 3:
        raise InputError(f"{target}: an image of shape {list(image.shape)}; expected [3, H, W]")
    if alpha is not None and form == "JPEG":
        image, alpha = on_white(image, alpha.to(image)), None
    # Chroma at full resolution: coloured brush strokes are what these images are about.
    options = {"JPEG": {"quality": quality, "subsampling": 0}, "WEBP": {"quality": quality}}
    with atomic_path(target) as temporary:
        pil_image(image, alpha).save(temporary, format=form, **options.get(form, {}))


def resize(image: Tensor, size: int, aspect: Aspect = "kept") -> Tensor:
    """[3, H, W] or [N, 3, H, W] with `size` pixels along its shorter side, or along both.

    `aspect` "kept" scales both sides alike, the longer one rounded; "squashed" gives size x size,
    as torchvision's Resize((size, size)) does. Bicubic, antialiased when shrinking, in [0, 1].
    """
    if size < 1:
        raise InputError(f"a size of {size} pixels; expected at least 1")
    if aspect not in ("kept", "squashed"):
        raise InputError(f"aspect is {aspect!r}; expected 'kept' or 'squashed'")
    height, width = image.shape[-2:]
    if aspect == "squashed":
        wanted = (size, size)
    elif height <= width:
        wanted = (size, max(1, round(width * size / height)))
    else:
        wanted = (max(1, round(height * size / width)), size)
    return resize_to(image, *wanted)


def resize_to(image: Tensor, height: int, width: int) -> Tensor:
    """[3, H, W] or [N, 3, H, W] at height x width: bicubic, antialiased, in [0, 1]."""
    if image.shape[-2:] == (height, width):
        return image
    batch = image if image.dim() == 4 else image[None]
    resized = functional.interpolate(
        batch, (height, width), mode="bicubic", align_corners=False, antialias=True
    ).clamp_(0, 1)
    return resized if image.dim() == 4 else resized[0]

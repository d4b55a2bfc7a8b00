"""Images as tensors: read upright and in sRGB, resized, and written with rounding.

Everywhere in the style study an image is float32, [3, H, W] or [N, 3, H, W], RGB, in [0, 1].
"""

import os
from typing import Literal

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.data import enlarging
from triptych.style.data.image_files import open_image, planes, shape_along, write_planes

Aspect = Literal["kept", "squashed"]


def read_image(path: str | os.PathLike[str]) -> Tensor:
    """The image as [3, H, W], upright and in sRGB; what is transparent shows white.

    Raises InputError for a file that is absent, damaged or no image.
    """
    rgb, alpha = image_tensors(open_image(path))
    return rgb if alpha is None else on_white(rgb, alpha)


def image_tensors(image: Image.Image) -> tuple[Tensor, Tensor | None]:
    """Pillow's image, of any mode, as RGB [3, H, W] and opacity [1, H, W] or None.

    Colours aren't multiplied by the opacity; where that is zero they are white.
    """
    rgb, alpha = planes(image)
    return torch.from_numpy(rgb), None if alpha is None else torch.from_numpy(alpha)


def on_white(rgb: Tensor, alpha: Tensor) -> Tensor:
    """[..., 3, H, W] laid over white with opacity [..., 1, H, W]."""
    return rgb * alpha + (1 - alpha)


def to_bytes(images: Tensor) -> Tensor:
    """uint8 of the same shape: clamped to [0, 1], times 255, rounded to the nearest.

    Raises InputError for values that aren't finite.
    """
    if not bool(torch.isfinite(images).all()):
        raise InputError("an image holds NaN or infinity; expected numbers in [0, 1]")
    return images.detach().clamp(0, 1).mul(255).round().to(torch.uint8)


def write_image(path: str | os.PathLike[str], image: Tensor, alpha: Tensor | None = None) -> None:
    """Write [3, H, W], with opacity [1, H, W] if there is one, as `write_planes` does."""
    opacity = None if alpha is None else alpha.cpu().numpy()
    write_planes(path, image.detach().cpu().float().numpy(), opacity)


def resize(image: Tensor, size: int, aspect: Aspect = "kept") -> Tensor:
    """[3, H, W] or [N, 3, H, W] with `size` pixels along its shorter side, or along both where
    `aspect` is "squashed". Bicubic, antialiased when shrinking, in [0, 1]."""
    height, width = image.shape[-2:]
    shape = (size, size) if aspect == "squashed" else shape_along(height, width, size)
    return resize_to(image, *shape)


def resize_to(image: Tensor, height: int, width: int) -> Tensor:
    """[3, H, W] or [N, 3, H, W] at height x width: bicubic, antialiased, in [0, 1]."""
    if image.shape[-2:] == (height, width):
        return image
    batch = image if image.dim() == 4 else image[None]
    resized = functional.interpolate(
        batch, (height, width), mode="bicubic", align_corners=False, antialias=True
    ).clamp_(0, 1)
    return resized if image.dim() == 4 else resized[0]


def enlarged(stylised: Tensor, small: Tensor, photographs: Tensor) -> Tensor:
    """Stylised images [N, 3, h, w] at the size of `photographs` [N, 3, H, W]: `data.enlarging`.

    `small` [N, 3, h, w] are what was stylised: the photographs, reduced.
    """
    images = zip(*(batch.cpu().numpy() for batch in (stylised, small, photographs)), strict=True)
    results = [torch.from_numpy(enlarging.enlarged(*group)) for group in images]
    return torch.stack(results).to(photographs)

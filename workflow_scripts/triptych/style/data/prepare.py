"""The style and content images of a study, from files or bundled, checked and written as PNG."""

import os
from collections.abc import Sequence

from torch import Tensor

from triptych.core.errors import InputError
from triptych.style.data.images import image_tensors, read_image, resize_to, write_image
from triptych.style.data.photographs import embedded_photographs

SMALLEST = 64
"""Pixels: what the deepest layers of a backbone can still measure."""


def check_painting(image: Tensor, source: str | os.PathLike[str]) -> None:
    """Raise InputError for a painting [3, H, W] smaller than 64 pixels, or of one colour."""
    height, width = image.shape[1:]
    if min(height, width) < SMALLEST:
        raise InputError(
            f"{source}: a painting of {width}x{height} pixels; expected at least {SMALLEST} along "
            "both sides"
        )
    if bool((image == image[:, :1, :1]).all()):
        raise InputError(f"{source}: every pixel has one colour; expected an image with a style")


def prepare_painting(
    source: str | os.PathLike[str], path: str | os.PathLike[str], longest: int | None = None
) -> None:
    """Write the image file `source` to `path` as PNG, with `longest` pixels along its longer side
    at most. Raises InputError for what `check_painting` refuses."""
    image = read_image(source)
    check_painting(image, source)
    height, width = image.shape[1:]
    scale = 1.0 if longest is None else longest / max(height, width)
    if scale < 1:
        image = resize_to(image, max(1, round(height * scale)), max(1, round(width * scale)))
    write_image(path, image)


def write_content(
    path: str | os.PathLike[str],
    image: Tensor,
    name: str | os.PathLike[str],
    size: Sequence[int] | None = None,
) -> None:
    """Write a photograph [3, H, W] to `path` as PNG, cropped and reduced to `size`, a height and
    a width. Raises InputError for a photograph that would have to be enlarged."""
    if size is not None:
        height, width = size
        if image.shape[1] < height or image.shape[2] < width:
            cut = f"{image.shape[2]}x{image.shape[1]} pixels, to be cut to {width}x{height}"
            raise InputError(f"{name}: {cut}; a photograph is never enlarged: take a larger one")
        image = fitted(image, height, width)
    write_image(path, image)


def bundled(name: str) -> Tensor:
    """The bundled photograph called `name`, [3, H, W]. Raises InputError for another name."""
    photographs = embedded_photographs()
    if name not in photographs:
        known = ", ".join(sorted(photographs))
        raise InputError(f"no bundled photograph is called {name!r}; there are {known}")
    return image_tensors(photographs[name])[0]


def fitted(image: Tensor, height: int, width: int) -> Tensor:
    """[3, height, width]: the largest part of that shape in the middle of [3, H, W], scaled."""
    rows, columns = image.shape[1:]
    if rows * width > columns * height:
        rows = max(1, round(columns * height / width))
    else:
        columns = max(1, round(rows * width / height))
    top, left = (image.shape[1] - rows) // 2, (image.shape[2] - columns) // 2
    return resize_to(image[:, top : top + rows, left : left + columns], height, width)

"""Contact sheets: images in rows with a caption each, the chosen one marked."""

import os
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from triptych.core.errors import InputError
from triptych.core.files import atomic_path

MARGIN = 6
CAPTION = 18
PAPER, INK, MARK = (255, 255, 255), (40, 40, 40), (200, 30, 40)


def contact_sheet(
    images: Sequence[Tensor],
    captions: Sequence[str],
    columns: int,
    marked: int | None = None,
) -> Image.Image:
    """A sheet of uint8 images [3, H, W], row by row, each above its caption.

    Images may differ in size; a cell is as large as the largest. `marked` is the number of the
    image that gets a red frame and a red caption.
    """
    if not images or len(images) != len(captions):
        raise InputError(
            f"{len(images)} images and {len(captions)} captions; expected as many, at least one"
        )
    height = max(image.shape[1] for image in images)
    width = max(image.shape[2] for image in images)
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    across, down = width + MARGIN, height + CAPTION + MARGIN
    sheet = Image.new("RGB", (columns * across + MARGIN, rows * down + MARGIN), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for number, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(number, columns)
        left, top = MARGIN + column * across, MARGIN + row * down
        sheet.paste(_pil(image), (left, top))
        colour = MARK if number == marked else INK
        draw.text((left + 2, top + height + 2), caption, colour, font)
        if number == marked:
            frame = (left - 3, top - 3, left + image.shape[2] + 2, top + image.shape[1] + 2)
            draw.rectangle(frame, outline=MARK, width=3)
    return sheet


def write_sheet(path: str | os.PathLike[str], sheet: Image.Image) -> None:
    """Write a sheet as PNG, whole or not at all."""
    with atomic_path(path) as temporary:
        sheet.save(temporary, "PNG", optimize=True)


def columns_for(count: int, widest: int = 8, aspect: float = 1.0) -> int:
    """Columns that make `count` images a sheet about as wide as it is tall, at most `widest`.

    aspect: an image's width over its height.
    """
    return max(1, min(widest, round((count / aspect) ** 0.5)))


def _pil(image: Tensor) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(image.permute(1, 2, 0).numpy()))

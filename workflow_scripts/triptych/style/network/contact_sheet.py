"""Sheets of labelled pictures. No PyTorch."""

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

MARGIN = 6
PAPER, INK = (255, 255, 255), (40, 40, 40)
"""A sheet's spaces in pixels, and its colours."""


def contact_sheet(
    images: Sequence[Image.Image], captions: Sequence[str], columns: int, text: int = 12
) -> Image.Image:
    """A sheet of images of one size, row by row, each above its caption of `text` pixels."""
    width, height = images[0].size
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    across, down = width + MARGIN, height + text * 3 // 2 + MARGIN
    sheet = Image.new("RGB", (columns * across + MARGIN, rows * down + MARGIN), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(text)
    for number, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(number, columns)
        left, top = MARGIN + column * across, MARGIN + row * down
        sheet.paste(image, (left, top))
        draw.text((left + 2, top + height + 2), caption, INK, font)
    return sheet

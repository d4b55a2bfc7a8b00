"""Pictures as data addresses, as light as the page shows them: an SVG of results/figures, which are
for print, has two decimals there, and its photographs are WebP of SHARPNESS pixels a unit."""

import base64
import io
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from PIL import Image

SHARPNESS = 1.25
"""Pixels of a photograph for each that it takes on a page of PAGE_WIDTH."""
PAGE_WIDTH, PREVIEW_WIDTH = 980, 640
QUALITY = 62  # of WebP

_SIZE = re.compile(r'<svg\b[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"')
_UNUSED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_DECIMALS = re.compile(r"(?<![\d.])([1-9]\d*\.\d\d)\d+")
_PICTURE = re.compile(r"data:image/(?:png|jpe?g);base64,([A-Za-z0-9+/=\s]+)")


class Embedded(NamedTuple):
    """A picture in the page: its data address, its width and height, and whether it shows images,
    whose colours must stay in a dark page."""

    source: str
    width: int
    height: int
    photographs: bool


def embedded(path: str | Path) -> Embedded:
    """An SVG file for the page."""
    text = Path(path).read_text(encoding="utf-8")
    size = _SIZE.search(text)
    width, height = (float(size[1]), float(size[2])) if size else (PAGE_WIDTH, PAGE_WIDTH)

    def lighter(match: re.Match[str]) -> str:
        with Image.open(io.BytesIO(base64.b64decode(match[1]))) as picture:
            scale = PAGE_WIDTH * SHARPNESS / (width / 72 * 200)
            return _webp(picture, round(picture.width * min(1, scale)))

    smaller = _DECIMALS.sub(r"\1", _UNUSED.sub("", text))
    smaller = " ".join(_PICTURE.sub(lighter, smaller).split())
    address = "data:image/svg+xml," + quote(smaller, safe=" /:;,=+()'!*")
    return Embedded(address, round(width), round(height), "<image" in smaller)


def preview(path: str | Path, width: int = PREVIEW_WIDTH) -> Embedded:
    """A PNG file for the first screen, of at most this width."""
    with Image.open(path) as picture:
        width = min(width, picture.width)
        height = round(picture.height * width / picture.width)
        return Embedded(_webp(picture, width), width, height, photographs=True)


def _webp(picture: Image.Image, width: int) -> str:
    """A picture as WebP of at most this width."""
    flat = on_white(picture)
    flat.thumbnail((width, 100 * width), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    flat.save(stream, "WEBP", quality=QUALITY)
    return data_address(stream.getvalue(), "image/webp")


def on_white(picture: Image.Image) -> Image.Image:
    """A picture without transparency."""
    whole = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole).convert("RGB")


def data_address(content: bytes, media: str) -> str:
    """The bytes of a file as an address that a browser opens without asking anybody."""
    return f"data:{media};base64,{base64.b64encode(content).decode('ascii')}"

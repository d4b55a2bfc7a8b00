"""Images in archives whose members are not compressed."""

import io
import re
from collections.abc import Iterator

from PIL import Image

BEGINNINGS = re.compile(rb"\xff\xd8\xff[\xe0\xe1]|RIFF....WEBPVP8", re.DOTALL)
"""Of JPEG and WebP files."""


def images_within(data: bytes) -> Iterator[bytes]:
    """The JPEG and WebP files within a file's bytes, in their order, each with what follows it."""
    for found in BEGINNINGS.finditer(data):
        image = data[found.start() :]
        try:
            with Image.open(io.BytesIO(image)) as opened:
                opened.load()
        except OSError:  # bytes that are like a beginning
            continue
        yield image

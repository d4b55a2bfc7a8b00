"""Films that are nothing but JPEGs in a row."""

import itertools
import mmap
import re
from pathlib import Path

NEXT = re.compile(rb"\xff\xd9\0*\xff\xd8\xff")
"""The end of a JPEG and the begin of another, which cameras pad."""

SEVERAL_VIEWS = b"MPF\0"
"""A mark of photographs that have a smaller copy, another view or a map of light behind them."""


def is_motion_jpeg(path: Path) -> bool:
    """Whether a file is at least three JPEGs in a row, and not one photograph."""
    with path.open("rb") as stream:
        if stream.read(2) != b"\xff\xd8":
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if SEVERAL_VIEWS in content[: 1 << 16]:
                return False
            return len(list(itertools.islice(NEXT.finditer(content), 2))) == 2

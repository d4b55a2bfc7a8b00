"""Pictures that could not be had: in place of each lies a small one that says so.

A run goes on without it. What needs it fails by its name and reason, or leaves it out and tells.
"""

import os
import textwrap
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from triptych.core.files import atomic_path

KEY = "triptych-missing"
"""Name of the PNG text that holds the reason."""

SIZE, INK, PAPER = (480, 320), (60, 60, 60), (228, 228, 228)


def write_missing(path: str | os.PathLike[str], name: str, reason: str) -> None:
    """Write a picture that names what is missing, and why."""
    image = Image.new("RGB", SIZE, PAPER)
    text = "\n".join([f"missing: {name}", "", *textwrap.wrap(reason, 52)[:12]])
    ImageDraw.Draw(image).multiline_text((16, 16), text, INK, ImageFont.load_default(15))
    info = PngInfo()
    info.add_itxt(KEY, reason)
    with atomic_path(path) as temporary:
        image.save(temporary, "PNG", pnginfo=info)


def missing_reason(path: str | os.PathLike[str]) -> str:
    """Why a picture is missing; "" of any other path."""
    try:
        with Image.open(path, formats=["PNG"]) as image:
            return str(image.info.get(KEY, ""))
    except OSError:  # no PNG, or nothing there
        return ""


def missing_among(paths: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Reasons of the missing ones of these pictures, by the file's stem."""
    reasons = {Path(path).stem: missing_reason(path) for path in paths}
    return {name: reason for name, reason in reasons.items() if reason}

"""What a picture says of itself, from a photograph to its result: Exif, XMP and resolution."""

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

logger = logging.getLogger(__name__)

KEPT_TAGS = {0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x013B, 0x8298, *range(0x9C9B, 0x9CA0)}
"""Exif's description, maker, model, software, date, artist, copyright, and what Windows writes."""

EXIF, GPS, XMP = 0x8769, 0x8825, 700
"""Exif's blocks of the exposure and of the place, and TIFF's tag of XMP."""

OF_THE_ORIGINAL = {0x927C, 0xA001, 0xA002, 0xA003, 0xA005}
"""Exif's maker's notes, colours, sides and interoperability, which aren't the result's."""

OUT_OF_XMP = re.compile(
    rb'tiff:Orientation="[^"]*"|<tiff:Orientation>.*?</tiff:Orientation>'
    rb"|<xmp:Thumbnails>.*?</xmp:Thumbnails>",
    re.DOTALL,
)

MOST_IN_JPEG = 65_000
"""Bytes of a block of metadata that a JPEG holds."""

PROCESSED_BY, PAINTED = 0x000B, "Triptych"
"""Exif's tag ProcessingSoftware, and what it says in results of `triptych stylize`."""


def details_of(image: Image.Image, what: str) -> dict[str, Any]:
    """Exif, XMP and resolution of an image, as options of Pillow's `save`: without orientation and
    thumbnail, and without what describes the file's own numbers."""
    details: dict[str, Any] = {}
    try:
        source, exif = image.getexif(), Image.Exif()
        for tag in sorted(KEPT_TAGS & set(source)):
            value = source[tag]  # whose letters beyond ASCII Pillow reads as Latin 1, and drops
            exif[tag] = value.encode("latin-1", "replace") if isinstance(value, str) else value
        for block in (EXIF, GPS):
            values = {
                tag: value
                for tag, value in source.get_ifd(block).items()
                if tag not in OF_THE_ORIGINAL
            }
            if values:
                exif.get_ifd(block).update(values)
                exif[block] = values
        if exif.tobytes() != Image.Exif().tobytes():
            details["exif"] = exif
    except Exception as error:  # a damaged block is no reason to refuse a sound image
        logger.warning("%s: its Exif cannot be kept (%s)", what, error)
    if isinstance(xmp := image.info.get("xmp"), bytes):
        details["xmp"] = OUT_OF_XMP.sub(b"", xmp)
    dpi = image.info.get("dpi", (0, 0))
    if all(1 < float(side) < MOST_IN_JPEG for side in dpi):
        details["dpi"] = tuple(map(float, dpi))
    return details


def marked(details: Mapping[str, Any]) -> dict[str, Any]:
    """Details with the mark of what `triptych stylize` painted."""
    exif = details.get("exif", Image.Exif())
    exif[PROCESSED_BY] = PAINTED
    return {**details, "exif": exif}


def is_marked(image: Image.Image) -> bool:
    return image.getexif().get(PROCESSED_BY) == PAINTED


def save_options(details: Mapping[str, Any], form: str, target: Path) -> dict[str, Any]:
    """The options of `save` by which a format keeps what it has room for."""
    options = dict(details)
    xmp, exif = options.pop("xmp", None), options.get("exif", Image.Exif())
    if form == "JPEG" and len(exif.tobytes()) > MOST_IN_JPEG:
        logger.warning("%s: a JPEG has no room for its Exif", target)
        del options["exif"]
    if form == "JPEG" and len(xmp or b"") > MOST_IN_JPEG:
        logger.warning("%s: a JPEG has no room for its XMP", target)
        xmp = None
    if xmp and form == "PNG":
        options["pnginfo"] = texts = PngInfo()
        texts.add_itxt("XML:com.adobe.xmp", xmp.decode("utf-8", "replace"))
    elif xmp and form == "TIFF":
        options["exif"] = exif
        exif[XMP] = xmp
    elif xmp:
        options["xmp"] = xmp
    if form == "TIFF" and (EXIF in exif or GPS in exif):
        options["compression"] = "raw"  # Pillow can't compress a TIFF with these blocks
    return options

"""What the numbers of an image file mean: which are black and white, by which transfer curve and of
which primaries. Pillow reads the files; tifffile and OpenCV read deep colours, of which it keeps 8
bits or nothing. No PyTorch."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

Values = np.ndarray
"""float32, [H, W] (grey) or [H, W, 3] (RGB), in [0, 1] but for what a file has beyond."""

DEEP = {"I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
"""Pillow's grey modes of more than 8 bits, which its conversions would clip."""

TOPS: list[float] = [1, 255, 1023, 4095, 16383, 65535, 2**24 - 1, 2**31 - 1, 2**32 - 1]
"""Numbers that stand for white: 1 in floats, else all bits of 8 to 32."""

BRIGHT = 10.0
"""Highest float of a picture whose white is 1 and whose lights are brighter."""

BITS, COMPRESSION, PLANAR, SAMPLE_FORMAT = 258, 259, 284, 339
WHITE_IS_ZERO, SEPARATE, SIGNED = 0, 2, 2
"""Tags of TIFF, and those of their values that change what a number means."""

ORIENTATION = 0x0112
"""Exif's tag of how a picture is turned: 5 to 8 exchange its sides."""

MOST_PIXELS = 178_956_970
"""Pixels of an image that is decoded at its own size: Pillow's limit."""

SRGB = (0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06)
"""x and y (CIE 1931) of white, red, green and blue: of ITU-R BT.709, too."""
ADOBE = (0.3127, 0.3290, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06)
PRIMARIES = {
    1: SRGB,
    2: SRGB,  # unspecified
    5: (0.3127, 0.3290, 0.64, 0.33, 0.29, 0.60, 0.15, 0.06),
    6: (0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070),
    7: (0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070),
    9: (0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046),
    11: (0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060),
    12: (0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060),
}
"""By number of ITU-T H.273, table 2."""

HDR = {16: "PQ", 18: "HLG"}
"""Curves of high dynamic range, by number of ITU-T H.273."""

WHITE_LIGHT = 203.0
"""cd/m2 of white in a picture of high dynamic range (ITU-R BT.2408)."""


def srgb_to_linear(values: Values) -> Values:
    """Linear light of sRGB's numbers (IEC 61966-2-1)."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(light: Values) -> Values:
    """Numbers of sRGB of linear light, both in [0, 1]: what is beyond is clipped."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def pq_to_linear(values: Values) -> Values:
    """Light of SMPTE ST 2084, 1 for WHITE_LIGHT."""
    root = np.clip(values, 0, 1) ** (32 / 2523)
    ratio = np.maximum(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)
    return 10_000 / WHITE_LIGHT * ratio ** (16384 / 2610)


def hlg_to_linear(values: Values) -> Values:
    """Light of ARIB STD-B67 on a display of 1,000 cd/m2, 1 for WHITE_LIGHT."""
    upper = (np.exp((values - 0.55991073) / 0.17883277) + 0.28466892) / 12
    return 1000 / WHITE_LIGHT * np.where(values <= 0.5, values**2 / 3, upper) ** 1.2


Curve = Callable[[Values], Values]


def _power(exponent: float) -> Curve:
    return lambda values: np.clip(values, 0, None) ** exponent


CURVES: dict[int, Curve] = {
    **dict.fromkeys((1, 2, 6, 13, 14, 15), srgb_to_linear),  # as films of BT.709 are shown
    4: _power(2.2),
    5: _power(2.8),
    8: _power(1.0),
    16: pq_to_linear,
    18: hlg_to_linear,
}
"""By number of ITU-T H.273, table 3."""


@dataclass(frozen=True)
class Encoding:
    """How colours are written as numbers.

    linear: the transfer curve's inverse, from numbers to light in which 1 is white
    primaries: x and y of white, red, green and blue
    narrow: whether 16 of 255 is black and 235 white
    """

    linear: Curve = srgb_to_linear
    primaries: tuple[float, ...] = SRGB
    narrow: bool = False

    @property
    def plain(self) -> bool:
        """Whether numbers are sRGB's as they are."""
        near = np.allclose(self.primaries, SRGB, atol=2e-3)
        return self.linear is srgb_to_linear and near and not self.narrow

    def to_srgb(self, values: Values) -> Values:
        """Values [H, W] or [H, W, 3] in sRGB, clipped to [0, 1]."""
        if self.narrow:
            values = np.clip((255 * values - 16) / 219, 0, 1)
        light = self.linear(values)
        if values.ndim == 3:
            adapted = np.linalg.inv(_to_xyz(SRGB)) @ _to_xyz(self.primaries)
            light = light @ adapted.T.astype(np.float32)
        return linear_to_srgb(light).astype(np.float32)


def _to_xyz(primaries: tuple[float, ...]) -> np.ndarray:
    """The matrix from linear RGB to XYZ in which equal numbers are sRGB's white."""
    xy = np.array(primaries).reshape(4, 2)
    xyz = np.concatenate([xy, 1 - xy.sum(1, keepdims=True)], 1)[1:].T
    white = np.array([SRGB[0], SRGB[1], 1 - SRGB[0] - SRGB[1]]) / SRGB[1]
    return np.asarray(xyz * np.linalg.solve(xyz, white))


def encoding_of(image: Image.Image, stream: BinaryIO, what: str) -> Encoding | None:
    """The encoding that an image file states beside an ICC profile; None for sRGB's or a profile's.

    PNG's cICP counts before its profile, that before sRGB, that before gAMA and cHRM (PNG, third
    edition, 4.3); AVIF's nclx and a camera's Adobe RGB (Exif's "R03") count without a profile.
    """
    info = image.info
    numbers = _code_points(image, stream)
    first = image.format == "PNG" or "icc_profile" not in info
    if numbers and first and (encoding := _of_code_points(numbers, what)):
        info.pop("icc_profile", None)
        return None if encoding.plain else encoding
    if "icc_profile" in info or "srgb" in info:
        return None
    if image.format == "PNG" and ("gamma" in info or "chromaticity" in info):
        return _of_chunks(info, what)
    return Encoding(_power(563 / 256), ADOBE) if _is_adobe_rgb(image) else None


def _is_adobe_rgb(image: Image.Image) -> bool:
    """Whether a camera says so (DCF 2.0): uncalibrated colours, whose interoperability is R03."""
    try:
        exif = image.getexif()
        colours = exif.get_ifd(0x8769).get(0xA001)
        return colours == 0xFFFF and exif.get_ifd(0xA005).get(1) == "R03"
    except Exception:  # a damaged EXIF block is no reason to refuse a sound image
        return False


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception:  # as above
        return 1


def _code_points(image: Image.Image, stream: BinaryIO) -> tuple[int, int, bool] | None:
    """Primaries, transfer curve and narrow range (which decoders of AVIF undo) by H.273."""
    if image.format == "PNG" and len(chunk := _png_chunk(stream, b"cICP")) == 4:
        return chunk[0], chunk[1], chunk[3] == 0
    if image.format == "AVIF":
        stream.seek(0)
        head = stream.read().partition(b"mdat")[0]
        if found := re.search(rb"colrnclx\0(.)\0(.)", head, re.DOTALL):
            return found[1][0], found[2][0], False
    return None


def _png_chunk(stream: BinaryIO, name: bytes) -> bytes:
    """What a PNG's chunk before its pixels holds; nothing if there is none."""
    stream.seek(8)
    while len(head := stream.read(8)) == 8 and head[4:] != b"IDAT":
        size = int.from_bytes(head[:4])
        if head[4:] == name:
            return stream.read(size)
        stream.seek(size + 4, 1)
    return b""


def _of_code_points(numbers: tuple[int, int, bool], what: str) -> Encoding | None:
    primaries, transfer, narrow = numbers
    if primaries not in PRIMARIES or transfer not in CURVES:
        logger.warning(
            "%s: its primaries %d and transfer curve %d (ITU-T H.273) are not known here; its "
            "colours are read as sRGB's",
            what,
            primaries,
            transfer,
        )
        return None
    if transfer in HDR:
        logger.warning(
            "%s: of high dynamic range (%s); what is brighter than white (%g cd/m2) is clipped",
            what,
            HDR[transfer],
            WHITE_LIGHT,
        )
    return Encoding(CURVES[transfer], PRIMARIES[primaries], narrow)


def _of_chunks(info: Mapping[Any, Any], what: str) -> Encoding | None:
    """The encoding of a PNG's chunks gAMA and cHRM; 1/2.2 with sRGB's primaries stands for sRGB."""
    gamma, primaries = info.get("gamma", 1 / 2.2), tuple(info.get("chromaticity", SRGB))
    if abs(gamma - 1 / 2.2) < 0.01 and np.allclose(primaries, SRGB, atol=2e-3):
        return None
    try:
        sound = 0.1 <= gamma <= 10 and np.isfinite(_to_xyz(primaries)).all()
    except ValueError:  # numpy's LinAlgError is one
        sound = False
    if not sound:
        logger.warning("%s: its gAMA or cHRM cannot be used and is left out", what)
        return None
    return Encoding(_power(1 / gamma) if "gamma" in info else srgb_to_linear, primaries)


def in_srgb(image: Image.Image, stream: BinaryIO, what: str) -> Image.Image:
    """A decoded image by what its numbers mean: black 0, white 1 or 255, and in sRGB, but where an
    ICC profile says more (`info["icc_profile"]`).

    Grey of more than 8 bits becomes Pillow's mode F in [0, 1]. `stream` is the file. Raises
    InputError for numbers that aren't finite.
    """
    if image.format == "PNG":
        _scale_key(image, _png_chunk(stream, b"IHDR")[8])
    encoding = encoding_of(image, stream, what)
    if image.format == "TIFF" and not _pillow_reads(image):
        return tiff_image(stream, what)
    if image.mode in DEEP:
        return _deep_grey(image, encoding, what)
    if image.format == "JPEG2000" and (depth := _jpeg2000_depth(stream)) > 8:
        values = _by_opencv(stream) / np.float32(2**depth - 1)  # of which Pillow turns white black
    elif encoding is None:
        return image
    elif image.format == "PNG" and _png_chunk(stream, b"IHDR")[8] == 16:
        values = _by_opencv(stream) / np.float32(65535)
    else:
        return _converted(image, encoding)
    return _picture(values, image.info, _orientation(image), encoding)


def _scale_key(image: Image.Image, depth: int) -> None:
    """Scale the colour that a PNG makes transparent as Pillow scales the PNG's numbers to 8 bits:
    those of 2 or 4 bits, and of 16 in colour."""
    key = image.info.get("transparency")
    if isinstance(key, int) and depth < 8 and image.mode == "L":
        image.info["transparency"] = key * 255 // (2**depth - 1)
    elif isinstance(key, tuple) and depth == 16:
        image.info["transparency"] = tuple(value >> 8 for value in key)


def _jpeg2000_depth(stream: BinaryIO) -> int:
    """Bits of the first colour, by the header of the code stream."""
    stream.seek(0)
    content = stream.read()
    return (content[content.index(b"\xff\x4f\xff\x51") + 42] & 127) + 1


def _by_opencv(stream: BinaryIO) -> np.ndarray:
    """The numbers of an image file, [H, W] or [H, W, C], colours as RGB or RGBA; a TIFF upright."""
    import cv2

    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # errors are told by us
    stream.seek(0)
    values = cv2.imdecode(np.frombuffer(stream.read(), np.uint8), cv2.IMREAD_UNCHANGED)
    if values is None:
        raise ValueError("OpenCV can't decode it")
    if values.ndim == 3 and values.shape[2] >= 3:
        values = values[..., [2, 1, 0, 3][: values.shape[2]]]
    return np.asarray(values)


def _picture(
    values: Values, info: Mapping[Any, Any], orientation: int, encoding: Encoding | None = None
) -> Image.Image:
    """Pillow's image of numbers in [0, 1]: grey [H, W] as F, else [H, W, 2 to 4] as LA, RGB or
    RGBA of 8 bits."""
    if encoding and values.ndim == 2:
        values = encoding.to_srgb(values)
    elif encoding:
        colours = values.shape[2] - (values.shape[2] + 1) % 2  # without the opacity
        values[..., :colours] = encoding.to_srgb(values[..., :colours])
    if values.ndim == 3:
        values = bytes_of(values)
    made = Image.fromarray(np.ascontiguousarray(values))
    made.info = {key: info[key] for key in ("icc_profile", "dpi", "xmp") if key in info}
    made.getexif()[ORIENTATION] = orientation
    return made


def _converted(image: Image.Image, encoding: Encoding) -> Image.Image:
    """An image of 8 bits in sRGB, some rows at a time."""
    if image.mode == "L" and "transparency" not in image.info:
        table = encoding.to_srgb(np.arange(256, dtype=np.float32)[None] / 255)
        return image.point(bytes_of(table)[0].tolist())
    whole = np.array(image.convert("RGBA" if image.has_transparency_data else "RGB"))
    for top in range(0, len(whole), 256):
        rows = whole[top : top + 256, :, :3]
        rows[:] = bytes_of(encoding.to_srgb(rows.astype(np.float32) / 255))
    made = Image.fromarray(whole)
    made.info = {key: value for key, value in image.info.items() if key != "transparency"}
    made.getexif()[ORIENTATION] = _orientation(image)
    return made


def _deep_grey(image: Image.Image, encoding: Encoding | None, what: str) -> Image.Image:
    """Grey of more than 8 bits in [0, 1]. A PNG's white is 65535 by its standard, and Pillow
    scales what PGM and JPEG 2000 state to that."""
    values, key = np.asarray(image), image.info.get("transparency")
    grey = scaled(values, 32, what) if image.mode == "F" else values / np.float32(65535)
    if isinstance(key, int):
        grey = np.stack([grey, values != key], -1)
    return _picture(grey, image.info, _orientation(image), encoding)


def scaled(values: np.ndarray, bits: int, what: str) -> Values:
    """Numbers of `bits` bits in [0, 1], clipped.

    White is all of 10, 12 or 14 bits; else the smallest of TOPS that none exceeds,
    with a warning where that isn't the mode's own. Signed numbers use their whole range if there
    are negative ones. Raises InputError for NaN and infinity.
    """
    kind = values.dtype.kind
    if kind == "f" and not np.isfinite(values).all():
        raise InputError(f"{what}: holds NaN or infinity; expected finite numbers")
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if kind == "u" and bits in (10, 12, 14):
        black, white = 0.0, 2.0**bits - 1
    else:
        tops = TOPS[0 if kind == "f" else 1 :]
        black, plain = 0.0, 1.0 if kind == "f" else 65535.0
        if kind == "i":
            plain = 2.0 ** (8 * values.itemsize - 1) - 1
            tops, black = sorted([*tops, plain]), -plain - 1 if low < 0 else 0.0
        white = plain if black else next((top for top in tops if high <= top), high)
        if kind == "f" and high <= BRIGHT:
            white = plain
        if (black or white != plain or plain > 65535 or high > white) and high > low:
            message = (
                "%s: its numbers go from %g to %g: %g is taken for black, %g is taken for white"
            )
            logger.warning(message, what, low, high, black, white)
    share = (values.astype(np.float32) - np.float32(black)) / np.float32(white - black)
    return np.clip(share, 0, 1)


def _pillow_reads(image: Image.Image) -> bool:
    """Whether Pillow has a TIFF's numbers right: it takes signed ones and 32 bits for others, mixes
    uncompressed planes of 16 bits, and keeps the upper 8 of 16 bits in colour; of deep grey it
    doesn't say how deep."""
    tags = getattr(image, "tag_v2", {})
    if SIGNED in tags.get(SAMPLE_FORMAT, (1,)) or image.mode in DEEP:
        return False
    if image.mode not in ("RGB", "RGBA") or max(tags.get(BITS, (1,))) <= 8:
        return True
    if tags.get(PLANAR) == SEPARATE and tags.get(COMPRESSION) == 1:
        return False
    return bool(np.asarray(image)[..., :3].max() > 63)  # at most, of 10 to 14 bits in 16


def tiff_image(stream: BinaryIO, what: str) -> Image.Image:
    """The first picture of a TIFF that Pillow can't read, or wrongly: floats and signed numbers in
    colour, 10 to 14 bits, planes. Raises InputError for other colours than grey and RGB."""
    import tifffile

    stream.seek(0)
    with tifffile.TiffFile(stream) as file:
        page = file.pages.first
        tags = {tag.code: tag.value for tag in page.tags}
        check_pixels(page.imagewidth, page.imagelength, what)
        if len(file.pages) > 1:
            logger.warning("%s: the first of its %d pages is taken", what, len(file.pages))
        colours = {0: 1, 1: 1, 2: 3}.get(page.photometric)
        if colours is None:
            raise InputError(
                f"{what}: a TIFF of {page.bitspersample} bits whose PhotometricInterpretation is "
                f"{page.photometric:d}; such are read as grey or RGB alone: convert it"
            )
        if page.planarconfig == SEPARATE and page.samplesperpixel > 1:  # which OpenCV mixes
            values, orientation = np.moveaxis(page.asarray(), 0, -1), tags.get(ORIENTATION, 1)
        else:
            values, orientation = np.atleast_3d(_by_opencv(stream)), 1
            if page.bitspersample in (10, 12, 14):
                values = values >> (16 - page.bitspersample)
    if values.shape[2] < colours:
        raise ValueError(f"{values.shape[2]} of its {colours} colours can be decoded")
    values = scaled(values, page.bitspersample, what)
    picture = values[..., :colours]
    if page.photometric == WHITE_IS_ZERO:
        picture = 1 - picture
    if page.extrasamples and page.extrasamples[0] in (1, 2):
        alpha = values[..., colours : colours + 1]
        if page.extrasamples[0] == 1:  # colours are multiplied by it
            picture = np.clip(picture / np.maximum(alpha, 1e-6), 0, 1)
        picture = np.concatenate([picture, alpha], -1)
    info = {"icc_profile": tags[34675]} if 34675 in tags else {}
    whole = picture[..., 0] if picture.shape[2] == 1 else picture
    return _picture(whole, info, orientation)


def pfm_image(stream: BinaryIO, what: str) -> Image.Image:
    """A portable float map in colour."""
    values = _by_opencv(stream)
    check_pixels(values.shape[1], values.shape[0], what)
    return _picture(scaled(values, 32, what), {}, 1)


def check_pixels(width: int, height: int, what: str, most: int = MOST_PIXELS) -> None:
    """Raise InputError for an image of more pixels than are decoded."""
    if width * height > most:
        smaller = "" if most > MOST_PIXELS else ", or give --size"
        raise InputError(
            f"{what}: {width}x{height} pixels; at most {most / 1e6:.0f} million are read: make it "
            f"smaller{smaller}"
        )


def bytes_of(pixels: np.ndarray) -> np.ndarray:
    """Floats in [0, 1] as uint8 of the same shape: clamped, times 255, rounded to the nearest."""
    return np.rint(np.clip(pixels, 0, 1) * np.float32(255)).astype(np.uint8)

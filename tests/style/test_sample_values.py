"""What the numbers of people's pictures mean, against arithmetic, FFmpeg's zscale and LittleCMS."""

import io
import logging
import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from triptych.core.errors import InputError
from triptych.style.data.image_files import open_image, planes

RAMP = np.linspace(0, 1, 48).reshape(6, 8)
COLOURS = np.stack([RAMP, RAMP.T.reshape(6, 8), 1 - RAMP], -1)


def found(content: bytes) -> np.ndarray:
    """[H, W, 3] in [0, 1], transparent on white."""
    rgb, alpha = planes(open_image(content))
    shown = rgb if alpha is None else rgb * alpha + 1 - alpha
    return shown.transpose(1, 2, 0)


def coded(values: np.ndarray, top: int, kind: str) -> np.ndarray:
    return np.rint(values * top).astype(kind)


def tiff(pixels: np.ndarray, photometric: str = "minisblack", **options: object) -> bytes:
    stream = io.BytesIO()
    tifffile.imwrite(stream, pixels, photometric=photometric, **options)
    return stream.getvalue()


def packed_tiff(values: np.ndarray, bits: int) -> bytes:
    """A grey TIFF whose numbers of `bits` bits follow each other without a gap."""
    digits = coded(values, 2**bits - 1, ">u2").view(np.uint8).reshape(*values.shape, 2)
    rows = np.packbits(np.unpackbits(digits, axis=-1)[..., -bits:].reshape(len(values), -1), 1)
    height, width = values.shape
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: 1, 273: 8, 277: 1, 278: height}
    tags[279] = rows.size
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    start = 8 + rows.size
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<I", start) + rows.tobytes() + directory


SIGNED = coded(RAMP, 65535, "i4") - 32768
WITH_ALPHA = np.concatenate([COLOURS * RAMP[..., None], RAMP[..., None]], -1)
TIFFS = {
    "white is zero": (tiff(coded(1 - RAMP, 65535, "u2"), "miniswhite"), RAMP),
    "white is zero, floats": (tiff((1 - RAMP).astype("f4"), "miniswhite"), RAMP),
    "signed": (tiff(SIGNED.astype("i2")), RAMP),
    "signed without negative numbers": (tiff(coded(RAMP, 32767, "i2")), RAMP),
    "32 bits": (tiff(coded(RAMP, 2**32 - 1, "u4")), RAMP),
    "10 bits": (packed_tiff(RAMP, 10), RAMP),
    "colours of 12 in 16 bits": (tiff(coded(COLOURS, 4095, "u2"), "rgb"), COLOURS),
    "colours of 16 bits": (tiff(coded(COLOURS, 65535, "u2"), "rgb"), COLOURS),
    "planes of 16 bits": (
        tiff(coded(COLOURS, 65535, "u2").transpose(2, 0, 1), "rgb", planarconfig="separate"),
        COLOURS,
    ),
    "signed colours": (tiff((coded(COLOURS, 65535, "i4") - 32768).astype("i2"), "rgb"), COLOURS),
    "floats in colour": (tiff(COLOURS.astype("f4"), "rgb"), COLOURS),
    "bright floats": (tiff((3 * COLOURS).astype("f4"), "rgb"), np.clip(3 * COLOURS, 0, 1)),
    "turned": (
        tiff(np.rot90(COLOURS).astype("f4"), "rgb", extratags=[(274, "H", 1, 6, True)]),
        COLOURS,
    ),
    "multiplied by opacity": (
        tiff(WITH_ALPHA.astype("f4"), "rgb", extrasamples=["assocalpha"]),
        WITH_ALPHA[..., :3] + 1 - RAMP[..., None],
    ),
}


@pytest.mark.parametrize("kind", TIFFS)
def test_a_tiffs_numbers_count_by_its_tags(kind):
    content, expected = TIFFS[kind]
    if expected.ndim == 2:
        expected = np.stack([expected] * 3, -1)
    np.testing.assert_allclose(found(content), expected, atol=1.1 / 255)


def test_colours_that_are_neither_grey_nor_rgb_and_nan_are_refused():
    with pytest.raises(InputError, match=r"PhotometricInterpretation is 8"):
        open_image(tiff(coded(COLOURS, 65535, "u2"), "cielab"))
    with pytest.raises(InputError, match="NaN"):
        open_image(tiff(np.full((4, 4, 3), np.nan, "f4"), "rgb"))


def png(pixels: np.ndarray, *chunks: tuple[bytes, bytes], depth: int = 0) -> bytes:
    """A PNG of uint8 or uint16 [H, W] or [H, W, 3], with chunks before its pixels.

    depth: bits of a number, if they are others than of `pixels`: rows are packed already
    """
    depth, colour = depth or 8 * pixels.itemsize, 2 if pixels.ndim == 3 else 0
    head = struct.pack(">IIBBBBB", *pixels.shape[1::-1], depth, colour, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(f">u{pixels.itemsize}").tobytes() for row in pixels)
    whole = [(b"IHDR", head), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in whole
    )


@pytest.mark.parametrize(
    ("pixels", "key", "depth"),
    [
        ([[0, 255]], [0], 1),
        ([[0, 85, 170, 255]], [1], 2),
        ([[17 * level for level in range(16)]], [5], 4),
        ([[0, 7, 9]], [7], 8),
        ([[0, 257, 900]], [257], 16),
        ([[[10, 20, 30], [200, 0, 0]]], [10, 20, 30], 8),
        ([[[0x0A0B, 0x1415, 0x1E1F], [0xC800, 0, 0]]], [0x0A0B, 0x1415, 0x1E1F], 16),
    ],
)
def test_a_colour_that_a_png_makes_transparent_is_so_at_any_depth(pixels, key, depth):
    whole = np.array(pixels, np.uint16 if depth == 16 else np.uint8)
    top = 2**depth - 1
    stored = whole
    if depth < 8:
        bits = np.unpackbits((whole[0] // (255 // top))[:, None], axis=1)[:, 8 - depth :]
        stored = np.packbits(bits)[None]
    content = png(stored, (b"tRNS", struct.pack(f">{len(key)}H", *key)), depth=depth)
    content = content[:16] + struct.pack(">I", whole.shape[1]) + content[20:]  # its width
    head = content[12:29]
    content = content[:29] + struct.pack(">I", zlib.crc32(head)) + content[33:]
    rgb, alpha = planes(open_image(content))
    scaled_key = np.array(key) * 255 // top if depth < 8 else np.array(key)
    transparent = whole[0] == scaled_key if whole.ndim == 2 else (whole[0] == key).all(-1)
    assert alpha[0, 0].tolist() == (~transparent).astype(float).tolist()
    shown = whole[0, -1] / (top if depth > 8 else 255)
    np.testing.assert_allclose(rgb[:, 0, -1], np.broadcast_to(shown, 3), atol=1 / 255)


def gama(value: float) -> tuple[bytes, bytes]:
    return b"gAMA", struct.pack(">I", round(1e5 * value))


def chrm(*numbers: float) -> tuple[bytes, bytes]:
    return b"cHRM", struct.pack(">8I", *(round(1e5 * number) for number in numbers))


def cicp(primaries: int, curve: int, full: int = 1) -> tuple[bytes, bytes]:
    return b"cICP", bytes([primaries, curve, 0, full])


PLAIN = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
ICCP = (b"iCCP", b"sRGB\0\0" + zlib.compress(PLAIN))
SRGB = (b"sRGB", b"\0")
ADOBE = chrm(0.3127, 0.3290, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06)
RED = (200, 60, 60)
ENCODINGS = {  # of RED; by cICP as FFmpeg's zscale gives it (npl=203), Adobe RGB as LittleCMS
    "linear": ([gama(1)], (229, 133, 133)),
    "nearly sRGB's": ([gama(0.45455)], RED),
    "sRGB beside gAMA": ([SRGB, gama(1)], RED),
    "a profile beside gAMA": ([ICCP, gama(1)], RED),
    "Adobe RGB's gAMA and cHRM": ([gama(256 / 563), ADOBE], (231, 57, 57)),
    "cICP before gAMA": ([cicp(12, 13), gama(1)], (217, 42, 52)),
    "cICP before a profile": ([cicp(1, 8), ICCP], (229, 133, 133)),
    "cICP sRGB": ([cicp(1, 13)], RED),
    "cICP of narrow range": ([cicp(1, 13, 0)], (214, 51, 51)),
    "cICP PQ": ([cicp(9, 16)], (255, 0, 0)),
    "cICP HLG": ([cicp(9, 18)], (255, 0, 38)),
    "cICP unknown": ([cicp(1, 77)], RED),
}


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("kind", ENCODINGS)
def test_a_pngs_colours_count_by_its_chunks(kind, depth, caplog):
    chunks, expected = ENCODINGS[kind]
    pixels = np.full((3, 5, 3), RED, np.uint8)
    with caplog.at_level(logging.WARNING):
        shown = found(png(pixels if depth == 8 else pixels.astype(np.uint16) * 257, *chunks))
    np.testing.assert_allclose(255 * shown[1, 2], expected, atol=1.01)
    assert bool(caplog.records) == any(word in kind for word in ("PQ", "HLG", "unknown"))


@pytest.mark.parametrize(("chunk", "level"), [(gama(1), 188), (cicp(9, 16), 181)])
@pytest.mark.parametrize("kind", ["u1", "u2"])
def test_grey_counts_by_its_curve_at_any_depth(chunk, level, kind):
    grey = np.full((4, 4), 128 * (257 if kind == "u2" else 1), kind)
    np.testing.assert_allclose(255 * found(png(grey, chunk))[2, 2], [level] * 3, atol=0.6)


@pytest.mark.parametrize(("primaries", "curve", "red"), [(12, 13, (217, 42, 52)), (1, 13, RED)])
def test_an_avifs_colours_count_by_nclx(primaries, curve, red):
    stream = io.BytesIO()
    Image.new("RGB", (64, 64), RED).save(stream, "AVIF", quality=100, subsampling="4:4:4")
    before, _, after = stream.getvalue().partition(b"colrnclx")
    stated = struct.pack(">HH", primaries, curve)
    shown = found(before + b"colrnclx" + stated + after[4:])
    np.testing.assert_allclose(255 * shown[32, 32], red, atol=2)


@pytest.mark.parametrize("share", [1, 0.2])
def test_pgm_and_jpeg_2000_count_by_the_depth_of_their_header(share):
    dark = share * np.kron(RAMP, np.ones((8, 8)))
    pgm = b"P5\n64 48\n1023\n" + coded(dark, 1023, ">u2").tobytes()
    np.testing.assert_allclose(found(pgm)[..., 0], dark, atol=0.6 / 1023)
    grey = cv2.imencode(".jp2", coded(dark, 65535, "u2"))[1].tobytes()
    np.testing.assert_allclose(found(grey)[..., 1], dark, atol=1e-3)
    colours = np.kron(share * COLOURS, np.ones((8, 8, 1)))  # of which Pillow turns white black
    content = cv2.imencode(".jp2", coded(colours, 65535, "u2")[..., ::-1])[1].tobytes()
    np.testing.assert_allclose(found(content), colours, atol=1.1 / 255)


def test_a_float_map_in_colour_is_read():
    pfm = b"PF\n8 6\n-1.0\n" + COLOURS[::-1].astype("<f4").tobytes()
    np.testing.assert_allclose(found(pfm), COLOURS, atol=0.6 / 255)


def jpeg(**options: object) -> bytes:
    stream = io.BytesIO()
    smooth = Image.radial_gradient("L").convert("RGB")
    smooth.save(stream, "JPEG", **options)
    return stream.getvalue()


@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_without_its_end_marker_is_read_and_a_cut_one_is_not(progressive, caplog):
    whole = jpeg(progressive=progressive)
    for missing in (1, 2):
        caplog.clear()
        assert np.array_equal(found(whole[:-missing]), found(whole))
        assert "without its end" in caplog.text
    for missing in (8, len(whole) // 2):
        with pytest.raises(InputError, match="truncated"):
            open_image(whole[:-missing])


def test_a_cameras_adobe_rgb_counts():
    """As Exif states it: uncalibrated colours, and R03 in the block of interoperability."""
    interoperability = struct.pack("<HHHI4sI", 1, 1, 2, 4, b"R03\0", 0)
    details = struct.pack("<HHHIIHHIII", 2, 0xA001, 3, 1, 0xFFFF, 0xA005, 4, 1, 56, 0)
    first = struct.pack("<HHHIII", 1, 0x8769, 4, 1, 26, 0)
    exif = b"Exif\0\0II*\0\x08\0\0\0" + first + details + interoperability
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), RED).save(stream, "JPEG", quality=100, exif=exif)
    np.testing.assert_allclose(255 * found(stream.getvalue())[9, 9], (231, 57, 57), atol=2)


def test_long_texts_of_a_png_are_no_reason_to_refuse_it():
    text = b"comment\0\0" + zlib.compress(bytes(3_000_000))
    pixels = np.full((4, 4, 3), 7, np.uint8)
    assert (found(png(pixels, (b"zTXt", text))) == np.float32(7 / 255)).all()

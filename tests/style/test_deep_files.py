"""Images of 16 bits a colour, as OpenCV writes and reads them; profiles as Little CMS does."""

import io
import logging
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image, ImageCms

from triptych.cli import main
from triptych.core.errors import InputError
from triptych.style.deep_files import depth_of
from triptych.style.images import read_image, read_image_alpha, write_image
from triptych.style.profiles import to_srgb

DEEP = np.random.default_rng(0).integers(0, 65536, (20, 28, 4), dtype=np.uint16)
STYLE = ["--style", "swirls", "--device", "cpu"]
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def written(path: Path, pixels: np.ndarray) -> Path:
    """RGB or RGBA by OpenCV, whose order is another."""
    assert cv2.imwrite(str(path), pixels[..., [2, 1, 0, 3][: pixels.shape[2]]])
    return path


def stored(path: Path) -> np.ndarray:
    pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    return pixels[..., [2, 1, 0, 3][: pixels.shape[2]]]


@pytest.mark.parametrize("suffix", ["png", "tif", "tiff"])
@pytest.mark.parametrize("channels", [3, 4])
def test_every_shade_is_read_and_written(tmp_path: Path, suffix: str, channels: int) -> None:
    pixels = DEEP[..., :channels].copy()
    pixels[..., 3:] |= 1  # where nothing is seen, colours are white
    path = written(tmp_path / f"a.{suffix}", pixels)
    rgb, alpha = read_image_alpha(path)
    planes = rgb if alpha is None else torch.cat([rgb, alpha])
    expected = pixels.astype(np.float64).transpose(2, 0, 1) / 65535
    assert np.abs(planes.numpy() - expected).max() < 1e-7
    assert depth_of(path) == 16
    write_image(tmp_path / f"b.{suffix}", rgb, alpha, depth=16)
    assert (stored(tmp_path / f"b.{suffix}") == pixels).all()
    write_image(tmp_path / f"c.{suffix}", rgb, alpha)
    assert stored(tmp_path / f"c.{suffix}").dtype == np.uint8


def test_depth_is_the_files(tmp_path: Path) -> None:
    for name, mode in (("a.png", "RGB"), ("b.tif", "RGBA"), ("c.jpg", "L"), ("d.gif", "P")):
        Image.new(mode, (4, 4)).save(tmp_path / name)
        assert depth_of(tmp_path / name) == 8
    Image.fromarray(DEEP[..., 0]).save(tmp_path / "grey.png")
    assert depth_of(tmp_path / "grey.png") == 16


@pytest.mark.parametrize("orientation", range(1, 9))
def test_16_bits_are_turned_upright_as_8_bits_are(tmp_path: Path, orientation: int) -> None:
    coarse = (DEEP[..., :3] >> 8).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(coarse).save(tmp_path / "coarse.png", exif=exif)
    deep = written(tmp_path / "deep.png", coarse.astype(np.uint16) * 257)
    _insert(deep, b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    torch.testing.assert_close(read_image(deep), read_image(tmp_path / "coarse.png"))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_tiffs_orientation_counts_too(tmp_path: Path, orientation: int) -> None:
    tifffile = pytest.importorskip("tifffile")
    coarse = (DEEP[..., :3] >> 8).astype(np.uint8)
    for name, pixels in (("coarse.tif", coarse), ("deep.tif", coarse.astype(np.uint16) * 257)):
        tag = (0x0112, "H", 1, orientation, True)
        tifffile.imwrite(tmp_path / name, pixels, photometric="rgb", extratags=[tag])
    found, expected = (read_image(tmp_path / name) for name in ("deep.tif", "coarse.tif"))
    torch.testing.assert_close(found, expected)


def _insert(png: Path, kind: bytes, content: bytes) -> None:
    """A chunk behind a PNG's header."""
    whole = png.read_bytes()
    check = struct.pack(">I", zlib.crc32(kind + content))
    png.write_bytes(
        whole[:33] + struct.pack(">I", len(content)) + kind + content + check + whole[33:]
    )


def profile(curve: bytes, swapped: bool = False) -> bytes:
    """Little CMS's sRGB under another name, with another curve, or red and green swapped."""
    count = struct.unpack(">I", SRGB[128:132])[0]
    tags = {}
    for number in range(count):
        tag, start, length = struct.unpack(">4sII", SRGB[132 + 12 * number :][:12])
        tags[tag] = SRGB[start : start + length].replace(
            "sRGB".encode("utf-16-be"), "none".encode("utf-16-be")
        )
    if curve:
        tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
    if swapped:
        tags[b"rXYZ"], tags[b"gXYZ"] = tags[b"gXYZ"], tags[b"rXYZ"]
    at, table, body = 132 + 12 * len(tags), b"", b""
    for tag, content in tags.items():
        content += bytes(-len(content) % 4)
        table += struct.pack(">4sII", tag, at + len(body), len(content))
        body += content
    whole = SRGB[4:128] + struct.pack(">I", len(tags)) + table + body
    return struct.pack(">I", len(whole) + 4) + whole


def para(kind: int, *numbers: float) -> bytes:
    fixed = [round(65536 * number) for number in numbers]
    return b"para" + bytes(4) + struct.pack(f">HH{len(fixed)}i", kind, 0, *fixed)


def curv(*values: int) -> bytes:
    return b"curv" + bytes(4) + struct.pack(f">I{len(values)}H", len(values), *values)


CURVES = {
    "its own": b"",
    "gamma": curv(round(2.2 * 256)),
    "linear": curv(),
    "table": curv(*[round(65535 * (n / 63) ** 1.8) for n in range(64)]),
    "power": para(0, 1.8),
    "offset": para(1, 2.0, 0.9, 0.1),
    "lifted": para(2, 2.0, 0.8, 0.1, 0.02),
    "two parts": para(3, 2.4, 0.9479, 0.0521, 0.0774, 0.0405),
    "seven numbers": para(4, 2.4, 0.9, 0.05, 0.08, 0.05, 0.02, 0.01),
}


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_profile_is_converted_as_little_cms_does(curve: bytes, swapped: bool) -> None:
    """Which knows 8 bits: so to half a level of those, and a little. Relative to white alone: it
    would else map a black that isn't zero to zero."""
    coarse = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    icc = profile(curve, swapped)
    reference = ImageCms.profileToProfile(
        Image.fromarray(coarse),
        io.BytesIO(icc),
        ImageCms.createProfile("sRGB"),
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        outputMode="RGB",
    )
    found = to_srgb(coarse.astype(np.uint16) * 257, icc) / 257
    difference = np.abs(found - np.asarray(reference))
    assert difference.max() < 1.1
    assert difference.mean() < 0.3


def test_between_levels_of_8_bits_a_profile_keeps_all_shades() -> None:
    ramp = np.arange(20_000, 24_096, dtype=np.uint16)[None, :, None].repeat(3, axis=2)
    found = to_srgb(ramp, profile(curv(round(2.2 * 256))))
    assert len(np.unique(found[..., 1])) > 3500


def test_a_16_bit_file_is_converted_by_its_profile(tmp_path: Path) -> None:
    path = written(tmp_path / "a.png", DEEP[..., :3])
    icc = profile(b"", swapped=True)
    _insert(path, b"iCCP", b"none\0\0" + zlib.compress(icc))
    expected = to_srgb(DEEP[..., :3], icc)
    found = read_image(path).permute(1, 2, 0).numpy() * 65535
    assert np.abs(found - expected).max() < 0.1
    assert np.abs(found - DEEP[..., :3]).max() > 1000


@pytest.mark.parametrize("damage", ["tables", "cut", "grey"])
def test_a_profile_that_cannot_be_used_is_told(
    damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    icc = {
        "tables": profile(b"").replace(b"rTRC", b"A2B0"),
        "cut": profile(b"")[:200],
        "grey": profile(b"").replace(b"RGB ", b"GRAY"),
    }[damage]
    with caplog.at_level(logging.WARNING):
        assert (to_srgb(DEEP[..., :3], icc) == DEEP[..., :3]).all()
    assert "a colour profile cannot be used with 16 bits and is left out" in caplog.text


def test_a_damaged_16_bit_file_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.png", DEEP[..., :3])
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(InputError, match=r"a\.png cannot be read as an image"):
        read_image(path)


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize("how", [[], ["--optimize", "--evaluations", "1"]])
def test_a_stylised_image_has_its_photographs_depth(
    tmp_path: Path, suffix: str, how: list[str]
) -> None:
    source = written(tmp_path / f"a.{suffix}", DEEP)
    target = tmp_path / "out" / f"a.{suffix}"
    assert main(["stylize", str(source), *STYLE, *how, "-o", str(target.parent) + "/"]) == 0
    result = stored(target)
    assert result.dtype == np.uint16 and result.shape == DEEP.shape
    assert (result[..., 3] == DEEP[..., 3]).all()
    assert len(np.unique(result[..., 1])) > 300  # of 560 pixels; 8 bits have 256
    assert main(["stylize", str(source), *STYLE, *how, "-o", str(tmp_path / "b.jpg")]) == 0

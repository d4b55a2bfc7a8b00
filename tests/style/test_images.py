"""Reading, resizing and writing images, against Pillow and numpy."""

import logging
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms
from torch import Tensor

from triptych.core.errors import InputError
from triptych.style.data.image_files import image_files
from triptych.style.data.images import read_image, resize, write_image

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def tensor(pixels: np.ndarray) -> Tensor:
    """[H, W, 3] bytes as the tensor that they mean."""
    return torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)


def saved(image: Image.Image, path: Path, **options: object) -> Path:
    image.save(path, **options)
    return path


def photograph(height: int, width: int) -> Tensor:
    """Smooth shades, as a photograph has them."""
    rows, columns = torch.meshgrid(
        torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij"
    )
    return torch.stack([rows, columns, (rows * 5).sin() * 0.5 + 0.5])


@pytest.mark.parametrize("suffix", ["png", "webp", "jpg", "jpeg", "PNG"])
def test_written_images_read_back_as_they_were(tmp_path, suffix):
    image = photograph(48, 64)
    path = tmp_path / "deep" / f"a.{suffix}"
    write_image(path, image)
    lossless = suffix.lower() == "png"
    assert (read_image(path) - image).abs().mean() <= (0.26 / 255 if lossless else 4 / 255)
    assert [item.name for item in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("value", "byte"),
    [(-0.2, 0), (0.499 / 255, 0), (0.501 / 255, 1), (254.6 / 255, 255), (1.0, 255), (1.7, 255)],
)
def test_values_are_rounded_and_clamped_not_truncated(tmp_path, value, byte):
    write_image(tmp_path / "a.png", torch.full((3, 2, 2), value))
    assert np.unique(np.asarray(Image.open(tmp_path / "a.png"))).tolist() == [byte]


# Where the upright image's first row and column lie in the stored one, by EXIF orientation.
UPRIGHT = {
    1: lambda stored: stored,
    2: lambda stored: stored[:, ::-1],
    3: lambda stored: stored[::-1, ::-1],
    4: lambda stored: stored[::-1],
    5: lambda stored: stored.transpose(1, 0, 2),
    6: lambda stored: np.rot90(stored, -1),
    7: lambda stored: stored[::-1, ::-1].transpose(1, 0, 2),
    8: lambda stored: np.rot90(stored, 1),
}


@pytest.mark.parametrize("orientation", UPRIGHT)
def test_images_are_turned_upright(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(Image.fromarray(PIXELS), tmp_path / "a.png", exif=exif)
    expected = UPRIGHT[orientation](PIXELS)
    assert torch.equal(read_image(path), tensor(np.ascontiguousarray(expected)))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_grey_of_16_bits_is_scaled_not_clipped(tmp_path, suffix):
    deep = np.linspace(0, 65535, 35).reshape(5, 7).astype(np.uint16)
    image = read_image(saved(Image.fromarray(deep), tmp_path / f"a.{suffix}"))
    np.testing.assert_allclose(image[1].numpy(), deep / 65535, atol=1e-6)
    assert torch.equal(image[0], image[2])


MODES = {
    "grey": (PIXELS[..., :1].repeat(3, 2), lambda image: image.convert("L")),
    "RGB": (PIXELS, lambda image: image),
    "RGBA": (PIXELS, lambda image: image.convert("RGBA")),
    "CMYK": (PIXELS, lambda image: image.convert("CMYK")),
    "palette": (PIXELS, lambda image: image.quantize(256)),
    "grey of 16 bits": (
        PIXELS[..., :1].repeat(3, 2),
        lambda image: Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257),
    ),
}


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
@pytest.mark.parametrize("mode", MODES)
def test_an_uncompressed_tiff_is_turned_in_every_mode(tmp_path, mode, orientation):
    pixels, made = MODES[mode]
    tall = np.ascontiguousarray(np.concatenate([pixels, pixels[::-1], pixels])[:, :5])
    path = saved(made(Image.fromarray(tall)), tmp_path / "a.tif", tiffinfo={0x0112: orientation})
    expected = np.ascontiguousarray(UPRIGHT[orientation](tall))
    np.testing.assert_allclose(read_image(path), tensor(expected), atol=1.5 / 255)


@pytest.mark.parametrize(
    ("numbers", "white", "usual"),
    [
        (np.linspace(0, 255, 35, dtype=np.float32), 255, False),
        (np.linspace(0, 60_000, 35, dtype=np.float32), 65_535, False),
        (np.linspace(0, 4095, 35).astype(np.uint16), 4095, False),
        (np.linspace(0, 2**31 - 1, 35).astype(np.int32), 2**31 - 1, False),
        (np.linspace(0, 1, 35, dtype=np.float32), 1, True),
        (np.linspace(0, 60_000, 35).astype(np.uint16), 65_535, True),
    ],
)
def test_numbers_are_scaled_by_their_kind_and_range(tmp_path, caplog, numbers, white, usual):
    path = saved(Image.fromarray(numbers.reshape(5, 7)), tmp_path / "a.tif")
    with caplog.at_level(logging.WARNING):
        found = read_image(path)
    np.testing.assert_allclose(found[1].flatten(), numbers / white, atol=1e-6)
    assert (f"{white:g} is taken for white" in caplog.text) != usual


def profile(space: bytes, tags: dict[bytes, bytes]) -> bytes:
    """An ICC profile of a display, version 2.4, in D50 (ICC.1:2001-04)."""
    body, table = b"", b""
    for name, data in tags.items():
        table += name + struct.pack(">2I", 132 + 12 * len(tags) + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    d50 = struct.pack(">3i", 63190, 65536, 54061)
    head = struct.pack(">I4sI4s4s4s", 0, b"lcms", 0x02400000, b"mntr", space, b"XYZ ")
    head += bytes(12) + b"acsp" + bytes(28) + d50
    whole = head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body
    return struct.pack(">I", len(whole)) + whole[4:]


LINEAR = b"curv" + bytes(8)
D50 = b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061)


def primary(x: float, y: float, z: float) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(65536 * v) for v in (x, y, z)))


LINEAR_SRGB = profile(  # whose name says "sRGB"
    b"RGB ",
    {
        b"desc": b"desc" + bytes(4) + struct.pack(">I", 12) + b"Linear sRGB\0" + bytes(79),
        b"wtpt": D50,
        b"rXYZ": primary(0.4361, 0.2225, 0.0139),
        b"gXYZ": primary(0.3851, 0.7169, 0.0971),
        b"bXYZ": primary(0.1431, 0.0606, 0.7139),
        **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), LINEAR),
    },
)
LINEAR_GREY = profile(b"GRAY", {b"wtpt": D50, b"kTRC": LINEAR})


@pytest.mark.parametrize(
    ("image", "data"),
    [
        (Image.new("RGB", (4, 4), (60, 60, 60)), LINEAR_SRGB),
        (Image.new("RGBA", (4, 4), (60, 60, 60, 255)), LINEAR_SRGB),
        (Image.new("L", (4, 4), 60), LINEAR_GREY),
        (Image.new("LA", (4, 4), (60, 255)), LINEAR_GREY),
        (Image.fromarray(np.full((4, 4), 60 * 257, np.uint16)), LINEAR_GREY),
    ],
    ids=lambda given: given.mode if isinstance(given, Image.Image) else "",
)
def test_a_profile_counts_by_its_curve_whatever_its_name(tmp_path, image, data):
    path = saved(image, tmp_path / "a.png", icc_profile=data)
    expected = 1.055 * (60 / 255) ** (1 / 2.4) - 0.055  # IEC 61966-2-1
    np.testing.assert_allclose(read_image(path)[:, 0, 0], [expected] * 3, atol=1.5 / 255)


@pytest.mark.parametrize(("name", "tags"), [("a.nef", {}), ("a.dng", {}), ("a.tif", {254: 1})])
def test_a_raw_photograph_is_refused_and_its_thumbnail_not_taken(tmp_path, name, tags):
    made = saved(Image.fromarray(PIXELS), tmp_path / "made.tif", tiffinfo=tags)
    with pytest.raises(InputError, match=rf"{name} is a raw photograph"):
        read_image(made.rename(tmp_path / name))
    assert image_files(tmp_path) == [tmp_path / name]


@pytest.mark.parametrize("kind", ["srgb", "damaged"])
def test_srgb_and_useless_profiles_leave_pixels_alone(tmp_path, kind, caplog):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = profile if kind == "srgb" else profile[:100]
    path = saved(Image.fromarray(PIXELS), tmp_path / "a.png", icc_profile=data)
    with caplog.at_level(logging.WARNING):
        assert torch.equal(read_image(path), tensor(PIXELS))
    assert ("left out" in caplog.text) == (kind == "damaged")


def test_shrinking_equals_pillows_antialiased_bicubic():
    """Up to Pillow's own rounding to bytes, which it does after each direction."""
    pixels = np.random.default_rng(2).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    ours = resize(tensor(pixels), 20)
    theirs = Image.fromarray(pixels).resize((30, 20), Image.Resampling.BICUBIC)
    assert (ours - tensor(np.asarray(theirs))).abs().max() < 2 / 255


def test_images_of_a_folder_are_found_by_suffix_once_and_nothing_of_a_system(tmp_path, caplog):
    folder = tmp_path / ".hidden above"
    listed = ["a.png", "b.JPG", "sub/c.webp"]
    systems = [".Trash-1000/files/a.png", "sub/.thumbnails/a.png", "@eaDir/a.png", "__MACOSX/a.png"]
    for name in (*listed, *systems, "notes.txt", ".hidden.png", ".git/annex/objects/d.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (folder / "folder.png").mkdir()
    (folder / "d.png").symlink_to(".git/annex/objects/d.png")
    (folder / "sub/e.png").symlink_to("../a.png")
    assert [path.name for path in image_files(folder)] == ["a.png", "b.JPG", "d.png"]
    caplog.clear()
    below = image_files(folder, recursive=True)
    assert [path.relative_to(folder).as_posix() for path in below] == sorted([*listed, "d.png"])
    counts = [record.args[1] for record in caplog.records]
    assert counts == [6, 1]
    with pytest.raises(InputError, match="no such folder"):
        image_files(tmp_path / "none")

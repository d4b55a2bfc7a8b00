"""Reading, resizing and writing images, against Pillow and numpy."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms
from torch import Tensor

from triptych.core.errors import InputError
from triptych.style.data.image_files import image_files, open_image
from triptych.style.data.images import (
    read_image,
    read_image_alpha,
    resize,
    write_image,
)

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
def test_written_images_read_back_as_they_were(tmp_path: Path, suffix: str) -> None:
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
def test_values_are_rounded_and_clamped_not_truncated(
    tmp_path: Path, value: float, byte: int
) -> None:
    write_image(tmp_path / "a.png", torch.full((3, 2, 2), value))
    assert np.unique(np.asarray(Image.open(tmp_path / "a.png"))).tolist() == [byte]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_an_image_that_is_not_finite_is_refused_and_the_earlier_file_kept(
    tmp_path: Path, bad: float
) -> None:
    path = tmp_path / "a.png"
    write_image(path, photograph(4, 4))
    before = path.read_bytes()
    with pytest.raises(InputError, match="NaN or infinity"):
        write_image(path, torch.full((3, 4, 4), bad))
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["a.gif", "a", "a.tensor"])
def test_an_unknown_suffix_is_refused_with_those_that_are_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"expected \.png, \.jpg, \.jpeg, \.webp"):
        write_image(tmp_path / name, photograph(4, 4))


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
def test_images_are_turned_upright(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(Image.fromarray(PIXELS), tmp_path / "a.png", exif=exif)
    expected = UPRIGHT[orientation](PIXELS)
    assert torch.equal(read_image(path), tensor(np.ascontiguousarray(expected)))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_grey_of_16_bits_is_scaled_not_clipped(tmp_path: Path, suffix: str) -> None:
    deep = np.linspace(0, 65535, 35).reshape(5, 7).astype(np.uint16)
    image = read_image(saved(Image.fromarray(deep), tmp_path / f"a.{suffix}"))
    np.testing.assert_allclose(image[1].numpy(), deep / 65535, atol=1e-6)
    assert torch.equal(image[0], image[2])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.gif", "the first of its 2 frames is taken; for all of them, make a video of it"),
        ("a.webp", "the first of its 2 frames"),
        ("a.png", "the first of its 2 frames"),
        ("a.tif", "the first of its 2 pages"),
    ],
)
def test_of_an_animation_the_first_frame_is_taken_and_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, said: str
) -> None:
    first, second = (Image.new("RGB", (6, 4), colour) for colour in ("red", "blue"))
    more = {"lossless": True} if name == "a.webp" else {}
    path = saved(first, tmp_path / name, save_all=True, append_images=[second], **more)
    assert read_image(path)[:, 0, 0].tolist() == [1, 0, 0]
    assert f"{path}: {said}" in caplog.text
    caplog.clear()
    read_image(saved(first, tmp_path / "one.gif"))
    assert caplog.text == ""


def test_what_is_not_looked_into_and_not_read_in_a_folder_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.png").write_bytes(b"")
    (tmp_path / "here" / "sub").mkdir(parents=True)
    (tmp_path / "here" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here" / "a.heic").write_bytes(b"")
    os.mkfifo(tmp_path / "here" / "pipe.png")
    assert [path.name for path in image_files(tmp_path / "here")] == ["a.heic", "pipe.png"]
    assert "here/sub: a folder, not looked into" in caplog.text
    assert "here/linked: a linked folder, not looked into" in caplog.text
    caplog.clear()
    assert len(image_files(tmp_path / "here", recursive=True)) == 2
    assert "linked" in caplog.text and "sub" not in caplog.text


@pytest.mark.parametrize("mode", ["P", "L", "LA", "RGB", "I;16"])
def test_transparency_of_every_kind_is_seen(tmp_path: Path, mode: str) -> None:
    options: dict[str, object] = {}
    if mode == "LA":
        image = Image.fromarray(np.array([[[9, 255], [7, 0]]], np.uint8))
    elif mode == "I;16":
        image, options = Image.fromarray(np.array([[900, 7]], np.uint16)), {"transparency": 7}
    elif mode == "RGB":
        image = Image.fromarray(np.array([[[9, 9, 9], [7, 8, 9]]], np.uint8))
        options = {"transparency": (7, 8, 9)}
    else:
        image, options = Image.fromarray(np.array([[9, 7]], np.uint8)), {"transparency": 7}
        if mode == "P":
            image = image.convert("P")
    assert image.mode == mode
    path = saved(image, tmp_path / "a.png", **options)
    _, alpha = read_image_alpha(path)
    assert alpha is not None
    assert alpha[0, 0].tolist() == [1, 0]
    assert read_image(path)[:, 0, 1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_opacity_is_written_where_the_format_has_it(tmp_path: Path, suffix: str) -> None:
    alpha = torch.linspace(0, 1, 256).expand(1, 4, -1)
    write_image(tmp_path / f"a.{suffix}", photograph(4, 256), alpha)
    _, read = read_image_alpha(tmp_path / f"a.{suffix}")
    assert read is not None
    torch.testing.assert_close(read, alpha, atol=0.51 / 255, rtol=0)


def test_a_colour_profile_is_converted_to_srgb(tmp_path: Path) -> None:
    """In a profile whose primaries are sRGB's but red and green are swapped."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    red, green = profile.index(b"rXYZ"), profile.index(b"gXYZ")
    swapped = bytearray(profile)
    swapped[red : red + 4], swapped[green : green + 4] = b"gXYZ", b"rXYZ"
    named = bytes(swapped).replace("sRGB".encode("utf-16-be"), "none".encode("utf-16-be"))
    image = Image.new("RGB", (4, 4), (255, 0, 0))
    path = saved(image, tmp_path / "a.png", icc_profile=named)
    np.testing.assert_allclose(read_image(path)[:, 0, 0], [0, 1, 0], atol=0.02)


@pytest.mark.parametrize("kind", ["srgb", "damaged"])
def test_srgb_and_useless_profiles_leave_pixels_alone(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = profile if kind == "srgb" else profile[:100]
    path = saved(Image.fromarray(PIXELS), tmp_path / "a.png", icc_profile=data)
    with caplog.at_level(logging.WARNING):
        assert torch.equal(read_image(path), tensor(PIXELS))
    assert ("left out" in caplog.text) == (kind == "damaged")


def test_a_large_jpeg_may_come_reduced_but_not_below_what_is_asked(tmp_path: Path) -> None:
    path = saved(Image.new("RGB", (1600, 1200)), tmp_path / "a.jpg")
    assert open_image(path).size == (1600, 1200)
    assert open_image(path, at_least=256).size == (400, 300)
    assert open_image(path, at_least=700).size == (1600, 1200)


@pytest.mark.parametrize(
    ("height", "width", "size", "aspect", "expected"),
    [
        (60, 90, 30, "kept", (30, 45)),
        (90, 60, 30, "kept", (45, 30)),
        (48, 64, 100, "kept", (100, 133)),
        (60, 60, 30, "kept", (30, 30)),
        (60, 90, 30, "squashed", (30, 30)),
        (1000, 2, 1, "kept", (500, 1)),
    ],
)
def test_sizes_after_resizing(
    height: int, width: int, size: int, aspect: str, expected: tuple[int, int]
) -> None:
    image = photograph(height, width)
    assert resize(image, size, aspect).shape == (3, *expected)  # type: ignore[arg-type]
    assert resize(image[None], size, aspect).shape == (1, 3, *expected)  # type: ignore[arg-type]


def test_shrinking_equals_pillows_antialiased_bicubic() -> None:
    """Up to Pillow's own rounding to bytes, which it does after each direction."""
    pixels = np.random.default_rng(2).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    ours = resize(tensor(pixels), 20)
    theirs = Image.fromarray(pixels).resize((30, 20), Image.Resampling.BICUBIC)
    assert (ours - tensor(np.asarray(theirs))).abs().max() < 2 / 255


def test_images_of_a_folder_are_found_by_suffix_and_sorted(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", "notes.txt", ".hidden.png", "sub/c.webp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder.png").mkdir()
    assert [path.name for path in image_files(tmp_path)] == ["a.png", "b.JPG"]
    below = image_files(tmp_path, recursive=True)
    assert [path.relative_to(tmp_path).as_posix() for path in below] == [
        "a.png",
        "b.JPG",
        "sub/c.webp",
    ]
    with pytest.raises(InputError, match="no such folder"):
        image_files(tmp_path / "none")


def test_a_heic_photograph_is_named_as_one_whatever_its_file_is_called(tmp_path: Path) -> None:
    content = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100)
    for name in ("IMG_1.HEIC", "IMG_1.jpg"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name} is a HEIC photograph.* Convert it"):
            read_image(tmp_path / name)
    with pytest.raises(InputError, match="HEIC"):
        open_image(content, "a member.jpg")

"""Reading, resizing and writing images, against Pillow and numpy."""

import io
import logging
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms
from torch import Tensor

from triptych.core.errors import InputError
from triptych.style.image_files import image_files, opaque, open_image
from triptych.style.images import (
    read_image,
    read_image_alpha,
    resize,
    resize_to,
    to_bytes,
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


def test_pixels_of_a_png_are_read_exactly(tmp_path: Path) -> None:
    image = read_image(saved(Image.fromarray(PIXELS), tmp_path / "a.png"))
    assert image.dtype == torch.float32
    assert image.is_contiguous()
    assert torch.equal(image, tensor(PIXELS))


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


def test_every_byte_survives_a_round_trip() -> None:
    every = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(to_bytes(every.float() / 255), every)


def test_the_same_image_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png", "a.jpg", "b.jpg"):
        write_image(tmp_path / name, photograph(20, 30))
    for suffix in ("png", "jpg"):
        first, second = (tmp_path / f"{name}.{suffix}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


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


def test_a_batch_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shape \[1, 3, 4, 4\]; expected \[3, H, W\]"):
        write_image(tmp_path / "a.png", photograph(4, 4)[None])


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


def test_a_jpegs_orientation_counts_too(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(Image.new("RGB", (40, 20)), tmp_path / "a.jpg", exif=exif)
    assert read_image(path).shape == (3, 40, 20)


def test_a_damaged_exif_block_does_not_matter(tmp_path: Path) -> None:
    path = saved(Image.new("RGB", (40, 20)), tmp_path / "a.jpg", exif=b"Exif\0\0MM\0*\xff\xff\xff")
    assert read_image(path).shape == (3, 20, 40)


@pytest.mark.parametrize("mode", ["L", "1"])
def test_grey_images_have_equal_channels(tmp_path: Path, mode: str) -> None:
    grey = Image.fromarray(PIXELS[:, :, 0]).convert(mode)
    image = read_image(saved(grey, tmp_path / "a.png"))
    expected = np.asarray(grey.convert("L"))[:, :, None].repeat(3, axis=2)
    assert torch.equal(image, tensor(expected))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_grey_of_16_bits_is_scaled_not_clipped(tmp_path: Path, suffix: str) -> None:
    deep = np.linspace(0, 65535, 35).reshape(5, 7).astype(np.uint16)
    image = read_image(saved(Image.fromarray(deep), tmp_path / f"a.{suffix}"))
    np.testing.assert_allclose(image[1].numpy(), deep / 65535, atol=1e-6)
    assert torch.equal(image[0], image[2])


def test_floats_are_taken_as_they_are_and_clamped(tmp_path: Path) -> None:
    values = np.array([[0.25, 0.5], [1.5, -0.5]], np.float32)
    image = read_image(saved(Image.fromarray(values), tmp_path / "a.tiff"))
    assert image[0].tolist() == [[0.25, 0.5], [1.0, 0.0]]


def test_a_palette_becomes_its_colours(tmp_path: Path) -> None:
    palette = Image.fromarray(PIXELS).quantize(8)
    image = read_image(saved(palette, tmp_path / "a.gif"))
    assert torch.equal(image, tensor(np.asarray(palette.convert("RGB"))))


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    inks = np.zeros((4, 4, 4), np.uint8)
    inks[..., 1] = 255  # magenta takes the green away
    image = read_image(saved(Image.fromarray(inks, "CMYK"), tmp_path / "a.tif"))
    assert image[:, 0, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.gif", "the first of its 2 frames is taken; for all of them, write a GIF, WebP or PNG"),
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


def test_a_heic_photograph_is_named_as_one_whatever_its_file_is_called(tmp_path: Path) -> None:
    content = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100)
    for name in ("IMG_1.HEIC", "IMG_1.jpg"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name} is a HEIC photograph.* Convert it"):
            read_image(tmp_path / name)
    with pytest.raises(InputError, match="HEIC"):
        open_image(content, "a member.jpg")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"a\.png is a pipe, .* write what it gives to a file"):
        read_image(tmp_path / "a.png")
    with pytest.raises(InputError, match="is a device"):
        read_image("/dev/zero")


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


def test_what_is_transparent_shows_white(tmp_path: Path) -> None:
    pixels = np.zeros((1, 3, 4), np.uint8)
    pixels[0, :, 0] = 255  # red
    pixels[0, :, 3] = [255, 51, 0]
    path = saved(Image.fromarray(pixels), tmp_path / "a.png")
    expected = [[1, 1, 1], [0, 0.8, 1], [0, 0.8, 1]]
    torch.testing.assert_close(read_image(path)[:, 0], torch.tensor(expected))


def test_opacity_comes_apart_from_unmultiplied_colours(tmp_path: Path) -> None:
    pixels = np.full((1, 3, 4), 100, np.uint8)
    pixels[0, :, 3] = [255, 51, 0]
    rgb, alpha = read_image_alpha(saved(Image.fromarray(pixels), tmp_path / "a.png"))
    assert alpha is not None
    torch.testing.assert_close(alpha[0, 0], torch.tensor([1, 0.2, 0]))
    torch.testing.assert_close(rgb[0, 0], torch.tensor([100 / 255, 100 / 255, 1.0]))


def test_an_opaque_image_has_no_opacity(tmp_path: Path) -> None:
    assert read_image_alpha(saved(Image.fromarray(PIXELS), tmp_path / "a.png"))[1] is None


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


def test_a_jpeg_shows_white_where_it_would_be_transparent(tmp_path: Path) -> None:
    write_image(tmp_path / "a.jpg", torch.zeros(3, 16, 16), torch.zeros(1, 16, 16))
    assert read_image(tmp_path / "a.jpg").min() > 0.98


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


def damaged_files(folder: Path) -> dict[str, bytes]:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8))
    files = {"empty.jpg": b"", "text.jpg": b"not an image at all", "html.png": b"<html></html>"}
    for suffix in ("jpg", "png", "webp", "gif", "bmp", "tif"):
        data = saved(noise, folder / f"whole.{suffix}").read_bytes()
        files[f"cut.{suffix}"] = data[: len(data) // 2]
        files[f"head.{suffix}"] = data[:20]
    return files


def test_damaged_files_are_refused_with_their_name(tmp_path: Path) -> None:
    for name, data in damaged_files(tmp_path).items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=f"{name} cannot be read as an image"):
            read_image(tmp_path / name)


def test_messages_do_not_change_from_run_to_run() -> None:
    def message() -> str:
        with pytest.raises(InputError) as caught:
            open_image(b"nothing", "x.jpg")
        return str(caught.value)

    kept = [message() for _ in range(3)]
    assert len(set(kept)) == 1
    assert "0x" not in kept[0]


def test_an_absent_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_image(tmp_path / "none.png")
    with pytest.raises(InputError, match="is a folder"):
        read_image(tmp_path)


def test_an_image_of_one_pixel_is_an_image(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", torch.full((3, 1, 1), 0.2))
    image = read_image(tmp_path / "a.png")
    assert image.shape == (3, 1, 1)
    assert torch.allclose(resize(image, 5), torch.full((3, 5, 5), 0.2))


def test_a_large_jpeg_may_come_reduced_but_not_below_what_is_asked(tmp_path: Path) -> None:
    path = saved(Image.new("RGB", (1600, 1200)), tmp_path / "a.jpg")
    assert open_image(path).size == (1600, 1200)
    assert open_image(path, at_least=256).size == (400, 300)
    assert open_image(path, at_least=700).size == (1600, 1200)


@pytest.mark.parametrize("mode", ["RGBA", "I;16", "RGB", "L"])
def test_opaque_is_what_read_image_gives(tmp_path: Path, mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(np.arange(0, 65536, 1873, dtype=np.uint16).reshape(5, 7))
    else:
        image = Image.fromarray(PIXELS).convert(mode)
        if mode == "RGBA":
            image.putalpha(Image.fromarray(PIXELS[:, :, 1]))
    path = saved(image, tmp_path / "a.png")
    bytes_of = np.array(opaque(open_image(path)))
    assert torch.equal(to_bytes(read_image(path)).permute(1, 2, 0), torch.from_numpy(bytes_of))


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


def test_an_image_of_the_right_size_is_left_alone() -> None:
    image = photograph(30, 45)
    assert resize(image, 30) is image


def test_shrinking_equals_pillows_antialiased_bicubic() -> None:
    """Up to Pillow's own rounding to bytes, which it does after each direction."""
    pixels = np.random.default_rng(2).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    ours = resize(tensor(pixels), 20)
    theirs = Image.fromarray(pixels).resize((30, 20), Image.Resampling.BICUBIC)
    assert (ours - tensor(np.asarray(theirs))).abs().max() < 2 / 255


def test_a_fine_pattern_shrinks_to_its_mean() -> None:
    """Without antialiasing it would come out black, white or striped."""
    stripes = (torch.arange(64) % 2).float().expand(3, 64, -1)
    inner = resize(stripes, 8)[:, 2:-2, 2:-2]
    assert (inner - 0.5).abs().max() < 0.01


def test_overshoot_is_clamped() -> None:
    edge = torch.cat([torch.zeros(3, 8, 4), torch.ones(3, 8, 4)], dim=2)
    enlarged = resize(edge, 40)
    assert enlarged.min() == 0
    assert enlarged.max() == 1


def test_flat_images_stay_flat() -> None:
    for size in (3, 17, 40):
        torch.testing.assert_close(
            resize(torch.full((3, 16, 23), 0.3), size).unique().mean(), torch.tensor(0.3)
        )


def test_a_batch_is_resized_image_by_image() -> None:
    batch = torch.stack([photograph(20, 30), photograph(20, 30).flip(-1)])
    together = resize_to(batch, 11, 13)
    for one, image in zip(together, batch, strict=True):
        torch.testing.assert_close(one, resize_to(image, 11, 13))


@pytest.mark.parametrize(("size", "aspect"), [(0, "kept"), (8, "stretched")])
def test_nonsense_sizes_and_aspects_are_refused(size: int, aspect: str) -> None:
    with pytest.raises(InputError, match="expected"):
        resize(photograph(4, 4), size, aspect)  # type: ignore[arg-type]


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


def test_bytes_are_opened_like_files() -> None:
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, "PNG")
    np.testing.assert_array_equal(np.asarray(open_image(stream.getvalue())), PIXELS)

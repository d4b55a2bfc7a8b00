"""Animations frame by frame, as Pillow sees them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from triptych.cli import main
from triptych.core.errors import InputError
from triptych.style.animations import Animation, read_animation, write_animation

DURATIONS = [40, 80, 120, 200]
STYLE = ["--style", "swirls", "--device", "cpu"]


def drawn(number: int, mode: str = "RGB") -> Image.Image:
    """A square that moves."""
    pixels = np.zeros((40, 56, 4), np.uint8)
    pixels[..., :3] = np.linspace(0, 255, 56, dtype=np.uint8)[None, :, None]
    pixels[5 + 4 * number : 15 + 4 * number, 10:30] = (200, 30, 40, 255)
    return Image.fromarray(pixels if mode == "RGBA" else pixels[..., :3])


def saved(path: Path, mode: str = "RGB", **options: object) -> Path:
    first, *others = (drawn(number, mode) for number in range(4))
    first.save(path, save_all=True, append_images=others, duration=DURATIONS, **options)
    return path


def seen(path: Path) -> tuple[list[np.ndarray], list[float], object]:
    """A file's frames as RGBA, their durations, and how often they repeat."""
    with Image.open(path) as image:
        frames = [
            (np.asarray(f.convert("RGBA")), f.info["duration"])
            for f in ImageSequence.Iterator(image)
        ]
        return [f for f, _ in frames], [d for _, d in frames], image.info.get("loop")


@pytest.mark.parametrize("suffix", ["gif", "webp", "png"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_written_frames_are_those_that_were_read(tmp_path: Path, suffix: str, mode: str) -> None:
    options = {"disposal": 2} if suffix == "gif" else {"lossless": True}
    source = saved(tmp_path / f"a.{suffix}", mode, loop=3, **options)
    animation = read_animation(source)
    modes = {
        frame.convert("RGBA").getchannel("A").getextrema()[0] == 0 for frame in animation.frames
    }
    assert modes == {mode == "RGBA"}
    frames = [frame.convert(mode) for frame in animation.frames]
    write_animation(
        tmp_path / f"b.{suffix}", Animation(frames, animation.durations, animation.loop)
    )
    (before, *shown), (after, *shown_again) = seen(source), seen(tmp_path / f"b.{suffix}")
    assert shown_again == shown == [DURATIONS, 3]
    for one, other in zip(before, after, strict=True):
        assert (one[..., 3] == other[..., 3]).all()
        there = one[..., 3] > 0
        assert abs(one[there].astype(int) - other[there]).mean() < 4


def test_a_gif_that_plays_once_does_so_again(tmp_path: Path) -> None:
    animation = read_animation(saved(tmp_path / "a.gif"))
    assert animation.loop is None
    write_animation(tmp_path / "b.gif", animation)
    assert seen(tmp_path / "b.gif")[1:] == (DURATIONS, None)


@pytest.mark.parametrize("how", [[], ["--optimize", "--evaluations", "2", "--size", "32"]])
def test_an_animation_is_stylised_frame_by_frame(
    tmp_path: Path, how: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    saved(source / "a.gif", loop=0)
    drawn(0).save(source / "still.gif")
    assert main(["stylize", str(source), *STYLE, *how, "-o", str(tmp_path / "out")]) == 0
    frames, durations, loop = seen(tmp_path / "out/a.gif")
    assert (durations, loop) == (DURATIONS, 0)
    assert frames[0].shape == ((32, 45, 4) if how else (40, 56, 4))
    for number, frame in enumerate(frames):
        drawn(number).save(tmp_path / "frame.png")
        one = [
            "stylize",
            str(tmp_path / "frame.png"),
            *STYLE,
            *how,
            "-o",
            str(tmp_path / "alone.png"),
        ]
        assert main(one) == 0
        alone = np.asarray(Image.open(tmp_path / "alone.png")).astype(int)
        assert (
            abs(alone - frame[..., :3]).mean() < 8
        )  # of 256 colours, of which the input had as many
        assert abs(alone - frames[number - 1][..., :3]).mean() > 1
    assert (tmp_path / "out/still.png").is_file()  # not cut to 256 colours
    first = ["stylize", str(source / "a.gif"), *STYLE, *how, "-o", str(tmp_path / "first.jpg")]
    assert main(first) == 0
    assert "the first of its 4 frames is taken; for all of them, write a GIF" in caplog.text


def test_a_damaged_frame_is_named(tmp_path: Path) -> None:
    whole = saved(tmp_path / "a.gif").read_bytes()
    (tmp_path / "a.gif").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"a\.gif: frame \d cannot be read"):
        read_animation(tmp_path / "a.gif")

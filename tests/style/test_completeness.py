"""Films that end before what their headers promise, and those that only seem to."""

from fractions import Fraction
from pathlib import Path

import pytest
from videos import Clip, same, sound_packets, write_clip

from triptych.style.video.frames import read_frames
from triptych.style.video.info import probe
from triptych.style.video.transfer import stylise_to_mp4

FIRST = (("movflags", "+faststart"),)
FRAGMENTS = (("movflags", "frag_keyframe+empty_moov"),)
MILLISECOND = Fraction(1, 1000)
CLIP = {"starts": range(48), "width": 128, "height": 96}


def cut(path: Path) -> Path:
    """The first 60% of a film's bytes."""
    part = path.with_name(f"cut-{path.name}")
    part.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    return part


def missing(path: Path) -> str:
    return stylise_to_mp4(path, path.with_name("painted.mp4"), same, 5)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("a.mp4", {"container": FIRST, "sounds": ("aac",)}),
        ("a.avi", {"codec": "mjpeg"}),
    ],
)
def test_of_counted_frames_those_that_are_missing_are_told(tmp_path, name, more):
    source = cut(write_clip(tmp_path / name, Clip(**CLIP, **more)))
    said = missing(source)
    count = sum(1 for _ in read_frames(probe(source)))
    assert 5 < count < 43
    for part in ("48 frames", f"only {count} ", f"({(48 - count) / 24:.1f} s)"):
        assert part in said
    assert not more.get("sounds") or sound_packets(tmp_path / "painted.mp4")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("a.mkv", {}),
        ("a.mkv", {"sounds": ("aac",)}),
        ("a.webm", {"codec": "libvpx"}),
        ("a.mp4", {"container": FRAGMENTS}),
        ("a.flv", {"codec": "flv1"}),
    ],
)
def test_without_a_count_the_stated_duration_tells(tmp_path, name, more):
    source = write_clip(tmp_path / name, Clip(**CLIP, **more))
    assert missing(source) == ""
    source = cut(source)
    info = probe(source)
    last = max(number for _, number in read_frames(info))
    assert 5 < last < 43
    said = missing(source)
    for seconds in (2.0, float(info.origin + info.start(last + 1) * info.time_base)):
        assert f" {seconds:.1f} s" in said


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("a.mkv", Clip(range(12), sounds=("aac",), last=60)),
        ("a.mp4", Clip(range(12), sounds=("aac",), last=60)),
        ("a.mkv", Clip((0, 500, 900, 1500), MILLISECOND, last=5000)),
        ("a.webm", Clip((0, 30, 900, 4500, 4520), MILLISECOND, last=20, codec="libvpx")),
        ("a.mp4", Clip(range(6, 18), last=20)),
        ("a.ts", Clip(range(48), sounds=("aac",))),
        ("a.h264", Clip(range(12))),
    ],
)
def test_films_of_odd_lengths_are_whole(tmp_path, name, clip):
    assert missing(write_clip(tmp_path / name, clip)) == ""


def test_a_cut_transport_stream_promises_nothing(tmp_path):
    assert missing(cut(write_clip(tmp_path / "a.ts", Clip(range(48))))) == ""

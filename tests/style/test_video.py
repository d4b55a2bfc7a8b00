import threading
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pytest
import torch
from videos import (
    MILLISECONDS,
    UNEVEN,
    Clip,
    decoded,
    decoded_by_opencv,
    sound_packets,
    sound_wave,
    write_clip,
)

from triptych.core.errors import InputError
from triptych.style.network.network import Architecture, TransformationNetwork
from triptych.style.video.info import probe
from triptych.style.video.measures import frame_speeds, properties, write_strip
from triptych.style.video.transfer import (
    encode,
    network_stylist,
    overlapped,
    stylise_to_mp4,
    stylise_video,
)

NTSC = Fraction(30_000, 1001)

EVEN_CLIPS = {
    "film rate, mp4": ("a.mp4", Clip()),
    "NTSC in Matroska, which rounds to milliseconds": (
        "a.mkv",
        Clip(tick=1 / NTSC, fps=NTSC),
    ),
    "a stream that starts late": (
        "a.ts",
        Clip(starts=range(90_000, 90_000 + 12 * 3750, 3750), tick=Fraction(1, 90_000), last=3750),
    ),
    "AVI": ("a.avi", Clip(codec="mpeg4")),
    "an odd size": ("a.mp4", Clip(width=63, height=47)),
}
UNEVEN_CLIPS = {
    # B-frames would hide how long the last frame lasts.
    "mp4": ("a.mp4", Clip(starts=UNEVEN, tick=MILLISECONDS, last=210, codec="mpeg4")),
    "Matroska": ("a.mkv", Clip(starts=UNEVEN, tick=MILLISECONDS, last=70)),
    "half a second late": (
        "a.mp4",
        Clip(starts=[500 + start for start in UNEVEN], tick=MILLISECONDS, last=70),
    ),
}


def same(frames: np.ndarray) -> np.ndarray:
    return frames


def negative(frames: np.ndarray) -> np.ndarray:
    return 255 - frames


def made(tmp_path: Path, source: Path, stylist=same, batch: int = 5) -> tuple[Path, Path, Path]:
    """frames.mkv, times.csv and video.mp4 of a source."""
    frames, times, video = (tmp_path / name for name in ("frames.mkv", "times.csv", "video.mp4"))
    stylise_video(source, frames, stylist, batch, times_path=times)
    encode(frames, times, source, video)
    return frames, times, video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", Clip(sounds=("aac",)))


@pytest.mark.parametrize("kind", EVEN_CLIPS)
def test_rate_size_number_and_times_of_even_frames_are_kept(tmp_path: Path, kind: str) -> None:
    name, clip = EVEN_CLIPS[kind]
    source = write_clip(tmp_path / name, clip)
    frames, _, video = made(tmp_path, source)
    with av.open(str(video)) as file:
        stream = file.streams.video[0]
        assert stream.average_rate == clip.fps
        assert stream.frames == 12
        assert (stream.width, stream.height) == (clip.width, clip.height)
    starts = decoded(video)[1]
    # Matroska's own times are rounded; from the rate the exact ones are known.
    assert [start - starts[0] for start in starts] == [
        time - clip.seconds()[0] for time in clip.seconds()
    ]
    table = properties({"source": source, "frames": frames, "video": video})
    kept = table[["frames_per_second", "frames", "width", "height", "variable_frame_times"]]
    assert len(kept.drop_duplicates()) == 1
    assert table["duration_seconds"].max() - table["duration_seconds"].min() < 1e-5


@pytest.mark.parametrize("kind", UNEVEN_CLIPS)
def test_variable_frame_times_are_kept_to_the_tick(tmp_path: Path, kind: str) -> None:
    name, clip = UNEVEN_CLIPS[kind]
    source = write_clip(tmp_path / name, clip)
    _, times, video = made(tmp_path, source)
    assert decoded(video)[1] == clip.seconds()
    np.testing.assert_allclose(
        pd.read_csv(times)["seconds"], [float(s) for s in clip.seconds()], atol=1e-9
    )
    table = properties({"source": source, "video": video}).set_index("file")
    assert list(table["variable_frame_times"]) == ["true", "true"]
    assert table.loc["video", "frames_per_second"] == table.loc["source", "frames_per_second"]
    assert table.loc["video", "duration_seconds"] == table.loc["source", "duration_seconds"]


def test_frames_between_rules_are_lossless(tmp_path: Path, clip: Path) -> None:
    frames, _, _ = made(tmp_path, clip, negative)
    expected = [255 - frame for frame in decoded_by_opencv(clip)]
    np.testing.assert_array_equal(decoded(frames)[0], expected)
    np.testing.assert_array_equal(decoded_by_opencv(frames), expected)


def test_the_number_of_frames_in_a_batch_makes_no_difference(tmp_path: Path, clip: Path) -> None:
    sizes = []

    def counting(frames: np.ndarray) -> np.ndarray:
        sizes.append(len(frames))
        return frames

    written = []
    for batch in (1, 5, 100):
        frames, _, _ = made(tmp_path, clip, counting, batch)
        written.append(frames.read_bytes())
    assert sizes == [1] * 12 + [5, 5, 2] + [12]
    assert written[0] == written[1] == written[2]


def test_the_direct_way_gives_the_file_that_the_two_steps_give(tmp_path: Path, clip: Path) -> None:
    first, second = (made(tmp_path / name, clip, negative) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    stylise_to_mp4(clip, tmp_path / "direct.mp4", negative)
    assert (tmp_path / "direct.mp4").read_bytes() == first[2].read_bytes()


def test_colours_come_through(tmp_path: Path, clip: Path) -> None:
    colour = np.array([200, 40, 90], np.uint8)
    video = made(tmp_path, clip, lambda frames: np.zeros_like(frames) + colour)[2]
    for frames in (decoded(video)[0], decoded_by_opencv(video)):
        assert np.abs(np.stack(frames).astype(int) - colour).max() <= 2
    with av.open(str(video)) as file:
        context = file.streams.video[0].codec_context
        assert context.pix_fmt == "yuv420p"
        assert (context.colorspace, context.color_primaries, context.color_trc) == (1, 1, 1)


def test_a_turned_video_is_written_upright(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "a.mp4", Clip(rotation=90))
    video = made(tmp_path, source)[2]
    info = probe(video)
    assert (info.width, info.height) == (48, 64)
    upright = np.rot90(decoded(source)[0][4])
    assert np.abs(decoded(video)[0][4].astype(int) - upright).mean() < 6


def test_frames_that_an_edit_list_skips_are_left_out(tmp_path: Path, clip: Path) -> None:
    trimmed = tmp_path / "trimmed.mp4"
    with av.open(str(clip)) as file, av.open(str(trimmed), "w") as output:
        stream = file.streams.video[0]
        target = output.add_stream_from_template(stream)
        for packet in file.demux(stream):
            if packet.dts is not None:
                packet.pts, packet.dts = packet.pts - 5 * 512, packet.dts - 5 * 512
                packet.stream = target
                output.mux(packet)
    result = stylise_video(trimmed, tmp_path / "f.mkv", same, times_path=tmp_path / "t.csv")
    assert (result.frames, result.expected) == (7, 7)


@pytest.mark.parametrize(
    ("name", "codecs"),
    [("a.mp4", ("aac",)), ("a.mp4", ("aac", "libmp3lame")), ("a.mkv", ("libopus",))],
)
def test_sound_is_copied_packet_by_packet(
    tmp_path: Path, name: str, codecs: tuple[str, ...]
) -> None:
    source = write_clip(tmp_path / name, Clip(sounds=codecs))
    video = made(tmp_path, source)[2]
    for number in range(len(codecs)):
        copied, original = sound_packets(video, number), sound_packets(source, number)
        assert [data for _, data in copied] == [data for _, data in original]
        late = [float(a - b) for (a, _), (b, _) in zip(copied, original, strict=True)]
        assert np.abs(late).max() <= 0.001


@pytest.mark.parametrize("name", ["a.mkv", "a.avi"])
def test_sound_that_mp4_does_not_take_becomes_aac_in_step(tmp_path: Path, name: str) -> None:
    source = write_clip(tmp_path / name, Clip(sounds=("pcm_s16le",)))
    video = made(tmp_path, source)[2]
    table = properties({"source": source, "video": video}).set_index("file")
    assert list(table["audio_codec"]) == ["pcm_s16le", "aac"]
    was, now = sound_wave(source)[2000:20_000], sound_wave(video)[2000:20_000]
    assert np.corrcoef(was, now)[0, 1] > 0.99


def test_sound_lies_between_the_pictures(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "a.mp4", Clip(starts=range(48), sounds=("aac",)))
    video = made(tmp_path, source)[2]
    with av.open(str(video)) as file:
        times = [
            (packet.stream.type, float(packet.dts * packet.time_base), packet.pos)
            for packet in file.demux()
            if packet.dts is not None
        ]
    in_file = sorted(times, key=lambda packet: packet[2])
    latest = {"video": 0.0, "audio": 0.0}
    for kind, seconds, _ in in_file:
        latest[kind] = seconds
        assert abs(latest["video"] - latest["audio"]) < 0.2


def truncated(tmp_path: Path) -> Path:
    clip = Clip(
        starts=range(48),
        width=128,
        height=96,
        sounds=("aac",),
        container=(("movflags", "+faststart"),),
    )
    whole = write_clip(tmp_path / "whole.mp4", clip).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    return tmp_path / "cut.mp4"


def test_a_truncated_video_is_kept_as_far_as_it_goes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = truncated(tmp_path)
    result = stylise_video(source, tmp_path / "f.mkv", same, times_path=tmp_path / "t.csv")
    assert result.expected == 48
    assert 5 < result.frames < 48
    assert len(decoded(tmp_path / "f.mkv")[0]) == len(pd.read_csv(tmp_path / "t.csv"))
    assert f"promises 48 frames, but only {result.frames} could be read" in caplog.text
    encode(tmp_path / "f.mkv", tmp_path / "t.csv", source, tmp_path / "v.mp4")
    assert len(decoded(tmp_path / "v.mp4")[0]) == result.frames
    assert [data for _, data in sound_packets(tmp_path / "v.mp4")] == [
        data for _, data in sound_packets(source)
    ]


@pytest.mark.parametrize("first", [0, 12])
def test_behind_a_damaged_frame_the_others_keep_their_times(tmp_path: Path, first: int) -> None:
    clip = Clip(starts=range(first, first + 24), codec="mjpeg", width=128, height=96)
    source = write_clip(tmp_path / "a.mp4", clip)
    with av.open(str(source)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.dts is not None]
        where, size = packets[10].pos, packets[10].size
    damaged = bytearray(source.read_bytes())
    damaged[where : where + size] = bytes(size)
    source.write_bytes(damaged)
    frames, times, video = made(tmp_path, source)
    table = pd.read_csv(times)
    assert list(table["source_frame"]) == [n for n in range(24) if n != 10]
    assert decoded(video)[1] == [Fraction(first + n, 24) for n in range(24) if n != 10]
    assert len(decoded(frames)[0]) == 23


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.write_text("a letter, not a film"), "cannot be read as a video"),
        (lambda path: path.write_bytes(b""), "cannot be read as a video"),
    ],
)
def test_what_is_no_video_is_told_in_a_sentence(tmp_path: Path, make, message: str) -> None:
    source = tmp_path / "source.mp4"
    make(source)
    with pytest.raises(InputError, match=message):
        stylise_video(source, tmp_path / "f.mkv", same, times_path=tmp_path / "t.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) in ([], ["source.mp4"])


def test_not_one_readable_frame_is_an_error(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "a.mp4", Clip(codec="mjpeg"))
    with av.open(str(source)) as file:
        ends = [(p.pos, p.pos + p.size) for p in file.demux(video=0) if p.dts is not None]
    damaged = bytearray(source.read_bytes())
    for first, last in ends:
        damaged[first:last] = bytes(last - first)
    source.write_bytes(damaged)
    with pytest.raises(InputError, match="not one frame"):
        stylise_video(source, tmp_path / "f.mkv", same, times_path=tmp_path / "t.csv")


def failing(where: str):
    def stylist(frames: np.ndarray) -> np.ndarray:
        if where == "network":
            raise RuntimeError("the network has melted")
        return frames[:, ::2] if where == "shape" else frames

    return stylist


@pytest.mark.parametrize(
    ("where", "message"),
    [("network", "melted"), ("shape", "stylist made"), ("reader", "eyes"), ("writer", "hand")],
)
def test_a_failing_stage_stops_all_and_leaves_nothing(
    tmp_path: Path, clip: Path, monkeypatch: pytest.MonkeyPatch, where: str, message: str
) -> None:
    def broken(text: str):
        def fail(*arguments: object) -> None:
            raise RuntimeError(text)

        return fail

    if where == "reader":
        monkeypatch.setattr("triptych.style.video.reading._matched", broken("sore eyes"))
    if where == "writer":
        monkeypatch.setattr("triptych.style.video.writing.VideoWriter.write", broken("sore hand"))
    threads = threading.active_count()
    began = time.monotonic()
    with pytest.raises((RuntimeError, ValueError), match=message):
        stylise_video(
            clip, tmp_path / "f.mkv", failing(where), batch=1, times_path=tmp_path / "t.csv"
        )
    assert time.monotonic() - began < 5
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []


def test_stages_run_side_by_side() -> None:
    def source():
        for number in range(10):
            time.sleep(0.03)
            yield number

    def slowly(number: int) -> int:
        time.sleep(0.03)
        return number * number

    given: list[int] = []
    began = time.monotonic()
    overlapped(source(), slowly, lambda number: (time.sleep(0.03), given.append(number)))
    assert given == [number * number for number in range(10)]
    # One after the other would take 0.9 s, perfect overlap 0.36 s.
    assert time.monotonic() - began < 0.75


def test_encoding_refuses_times_of_other_frames(tmp_path: Path, clip: Path) -> None:
    frames, times, _ = made(tmp_path, clip)
    pd.read_csv(times).iloc[:-1].to_csv(times, index=False)
    with pytest.raises(InputError, match=r"12 frames, but .* the times of 11"):
        encode(frames, times, clip, tmp_path / "v.mp4")


def test_speeds_are_paired_and_named(clip: Path) -> None:
    sizes: list[int] = []

    def stylist(frames: np.ndarray) -> np.ndarray:
        sizes.append(len(frames))
        return frames

    table = frame_speeds(
        clip, stylist, batches=(1, 4), repeats=3, frames=8, device="abacus", threads=1
    )
    assert list(table.columns) == [
        "batch",
        "repeat",
        "frames",
        "seconds",
        "frames_per_second",
        "device",
        "threads",
    ]
    assert list(zip(table["batch"], table["repeat"], strict=True)) == [
        (batch, repeat) for batch in (1, 4) for repeat in range(3)
    ]
    np.testing.assert_allclose(table["frames_per_second"], 8 / table["seconds"])
    assert sizes == ([4] * 2 + [1] * 8 + [1] * 8 + [4] * 2) * 2


def test_the_strip_shows_source_above_result(tmp_path: Path, clip: Path) -> None:
    from PIL import Image

    frames, _, _ = made(tmp_path, clip, negative)
    write_strip(tmp_path / "strip.png", clip, frames, count=4, height=48)
    strip = np.asarray(Image.open(tmp_path / "strip.png"))
    assert strip.shape == (2 * 48, 4 * 64, 3)
    np.testing.assert_array_equal(strip[48:], 255 - strip[:48])
    np.testing.assert_array_equal(strip[:48, :64], decoded_by_opencv(clip)[0])


def test_a_network_as_stylist_gives_what_it_gives_by_itself_rounded() -> None:
    torch.manual_seed(0)
    network = TransformationNetwork(Architecture(width=4, blocks=(0,))).eval()
    with torch.no_grad():  # an untrained network's picture is all but black
        network.deconv3.conv2d.weight.mul_(200)
        network.deconv3.conv2d.bias.fill_(128)
    frames = np.random.default_rng(0).integers(0, 256, (2, 22, 27, 3), dtype=np.uint8)
    with torch.no_grad():
        plain = network(torch.from_numpy(frames).permute(0, 3, 1, 2) / 255) * 255
    expected = plain.clamp(0, 255).permute(0, 2, 3, 1).numpy()
    stylist = network_stylist(network, torch.device("cpu"))
    styled = stylist(frames)
    assert styled.dtype == np.uint8
    np.testing.assert_array_equal(stylist(frames[1:]), styled[1:])
    # Half a level by rounding, and as much again of float32's own.
    assert np.abs(styled - expected).max() < 0.51
    assert np.std(expected) > 10

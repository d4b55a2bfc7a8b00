import struct
import threading
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from videos import (
    MILLISECONDS,
    UNEVEN,
    Clip,
    decoded,
    decoded_by_opencv,
    made,
    picture,
    same,
    sound_packets,
    sound_wave,
    write_clip,
    write_stream,
)

from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.video.frames import read_frames
from triptych.style.video.info import probe
from triptych.style.video.transfer import network_stylist, properties, stylise_to_mp4

NTSC = Fraction(30_000, 1001)

EVEN_CLIPS = {
    "NTSC in Matroska, which rounds to milliseconds": ("a.mkv", Clip(tick=1 / NTSC, fps=NTSC)),
    "a stream that starts late": (
        "a.ts",
        Clip(starts=range(90_000, 90_000 + 12 * 3750, 3750), tick=Fraction(1, 90_000), last=3750),
    ),
    "B-frames in AVI, which has no times of showing": ("a.avi", Clip()),
    "an odd size": ("a.mp4", Clip(width=63, height=47)),
}
UNEVEN_CLIPS = {
    # B-frames would hide how long the last frame lasts.
    "mp4": ("a.mp4", Clip(starts=UNEVEN, tick=MILLISECONDS, last=210, codec="mpeg4")),
    "half a second late": (
        "a.mp4",
        Clip(starts=[500 + start for start in UNEVEN], tick=MILLISECONDS, last=70),
    ),
}


def negative(frames: np.ndarray) -> np.ndarray:
    return 255 - frames


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", Clip(sounds=("aac",)))


@pytest.mark.parametrize("kind", EVEN_CLIPS)
def test_rate_size_number_and_times_of_even_frames_are_kept(tmp_path, kind):
    name, clip = EVEN_CLIPS[kind]
    source = write_clip(tmp_path / name, clip)
    video = made(tmp_path, source)
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
    table = properties({"source": source, "video": video})
    kept = table[["frames_per_second", "frames", "width", "height", "variable_frame_times"]]
    assert len(kept.drop_duplicates()) == 1
    assert table["duration_seconds"].max() - table["duration_seconds"].min() < 1e-5


@pytest.mark.parametrize("kind", UNEVEN_CLIPS)
def test_variable_frame_times_are_kept_to_the_tick(tmp_path, kind):
    name, clip = UNEVEN_CLIPS[kind]
    source = write_clip(tmp_path / name, clip)
    video = made(tmp_path, source)
    expected = [second - clip.seconds()[0] for second in clip.seconds()]
    assert decoded(video)[1] == expected
    table = properties({"source": source, "video": video}).set_index("file")
    assert list(table["variable_frame_times"]) == ["true", "true"]
    assert table.loc["video", "frames_per_second"] == table.loc["source", "frames_per_second"]
    assert table.loc["video", "duration_seconds"] == table.loc["source", "duration_seconds"]


def test_each_frame_is_painted_once_in_order_and_the_bytes_are_the_same_again(tmp_path, clip):
    watched: list[tuple[np.ndarray, np.ndarray]] = []
    for name in "ab":
        watched.clear()
        stylise_to_mp4(
            clip, tmp_path / name, negative, watch=lambda *pair: watched.append(pair), crf=0
        )
    expected = decoded_by_opencv(clip)
    np.testing.assert_array_equal([frame for frame, _ in watched], expected)
    np.testing.assert_array_equal([255 - result for _, result in watched], expected)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_turned_video_is_written_upright(tmp_path):
    source = write_clip(tmp_path / "a.mp4", Clip(rotation=90, aspect=Fraction(3, 2)))
    video = made(tmp_path, source)
    info = probe(video)
    assert (info.width, info.height, info.pixel_aspect) == (48, 64, Fraction(2, 3))
    upright = np.rot90(decoded(source)[0][4])
    assert np.abs(decoded(video)[0][4].astype(int) - upright).mean() < 6


IDENTITY = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)


SIGNS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


@pytest.mark.parametrize(
    "matrix", [*((a, 0, 0, d) for a, d in SIGNS), *((0, b, c, 0) for b, c in SIGNS)]
)
def test_a_film_is_shown_as_its_matrix_turns_and_mirrors_it(tmp_path, matrix):
    source = write_clip(tmp_path / "a.mp4", Clip(starts=range(2)))
    a, b, c, d = matrix
    content = source.read_bytes()
    track = content.index(IDENTITY, content.index(b"tkhd"))
    shown = struct.pack(">9i", a * 65536, b * 65536, 0, c * 65536, d * 65536, 0, 0, 0, 1 << 30)
    source.write_bytes(content[:track] + shown + content[track + len(shown) :])
    (still, *_), _ = decoded(source)  # which PyAV doesn't turn
    height, width = still.shape[:2]
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    across, down = a * columns + c * rows, b * columns + d * rows
    expected = np.zeros((np.ptp(down) + 1, np.ptp(across) + 1, 3), np.uint8)
    expected[down - down.min(), across - across.min()] = still
    frame, _ = next(read_frames(probe(source)))
    np.testing.assert_array_equal(frame, expected)


@pytest.mark.parametrize(("name", "codec"), [("a.mpg", "mpeg2video"), ("a.mkv", "libsvtav1")])
def test_every_frame_of_interlaced_films_and_of_newer_codecs_is_read(tmp_path, name, codec):
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV cannot write {codec}")
    interlaced = {"flags": "+ilme+ildct", "b": "4M"} if codec == "mpeg2video" else {"crf": "20"}
    frames = [picture(number, 128, 96) for number in range(25)]
    source = write_stream(tmp_path / name, codec, frames, options=interlaced)
    found = [frame for frame, _ in read_frames(probe(source))]
    assert len(found) == 25
    for number, frame in enumerate(found):
        assert np.abs(frame.astype(int) - picture(number, 128, 96)).mean() < 12


@pytest.mark.parametrize("sound", ["libopus", "pcm_s16le"])
def test_a_film_that_begins_late_has_its_own_length_and_picture_and_sound_together(tmp_path, sound):
    plain = write_clip(tmp_path / "plain.mkv", Clip(codec="mjpeg", sounds=(sound,)))
    late = tmp_path / "take1:late.mkv"  # which is no protocol
    with av.open(str(plain)) as file, av.open(f"file:{late}", "w") as output:
        streams = {s.index: output.add_stream_from_template(s) for s in file.streams}
        for packet in file.demux():
            if packet.size:
                packet.pts = packet.dts = packet.pts + round(600 / packet.time_base)
                packet.stream = streams[packet.stream.index]
                output.mux(packet)
    results = []
    for name, source in (("a", plain), ("b", late)):
        stylise_to_mp4(source, tmp_path / f"{name}.mp4", same)
        results.append(tmp_path / f"{name}.mp4")
    first, second = (sound_packets(path) for path in results)
    assert [data for _, data in first] == [data for _, data in second]
    pictures = [[float(time) for time in decoded(path)[1]] for path in results]
    heard = [[float(time) for time, _ in packets] for packets in (first, second)]
    assert max(abs(a - b) for a, b in zip(*pictures, strict=True)) < 0.01  # Opus begins before 0
    apart = [time - images[0] for time, images in zip(map(min, heard), pictures, strict=True)]
    assert abs(apart[0] - apart[1]) < 0.002
    table = properties({"plain": results[0], "late": results[1]})
    assert table["duration_seconds"].max() < 0.6


def test_a_last_frame_that_is_held_lasts_as_long_as_its_packet_says(tmp_path):
    slides = Clip(starts=(0, 2, 4, 6), tick=Fraction(1), last=10, fps=Fraction(1, 2))
    source = write_clip(tmp_path / "slides.mp4", slides)
    video = made(tmp_path, source)
    table = properties({"source": source, "video": video})
    assert list(table["duration_seconds"]) == [16, 16]
    assert decoded(video)[1] == [0, 2, 4, 6]


def test_frames_that_an_edit_list_skips_are_left_out(tmp_path, clip):
    trimmed = tmp_path / "trimmed.mp4"
    with av.open(str(clip)) as file, av.open(str(trimmed), "w") as output:
        stream = file.streams.video[0]
        target = output.add_stream_from_template(stream)
        for packet in file.demux(stream):
            if packet.dts is not None:
                packet.pts, packet.dts = packet.pts - 5 * 512, packet.dts - 5 * 512
                packet.stream = target
                output.mux(packet)
    assert len(decoded(made(tmp_path, trimmed))[0]) == 7


def test_the_number_of_frames_in_a_batch_makes_no_difference(tmp_path, clip):
    sizes = []

    def counting(frames: np.ndarray) -> np.ndarray:
        sizes.append(len(frames))
        return frames

    written = []
    for batch in (1, 5, 100):
        written.append(made(tmp_path, clip, counting, batch).read_bytes())
    assert sizes == [1] * 12 + [5, 5, 2] + [12]
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize(
    ("name", "codecs"),
    [("a.mp4", ("aac", "libmp3lame")), ("a.mkv", ("libopus",))],
)
def test_sound_is_copied_packet_by_packet(tmp_path, name, codecs):
    source = write_clip(tmp_path / name, Clip(sounds=codecs))
    video = made(tmp_path, source)
    for number in range(len(codecs)):
        copied, original = sound_packets(video, number), sound_packets(source, number)
        assert [data for _, data in copied] == [data for _, data in original]
        late = [float(a - b) for (a, _), (b, _) in zip(copied, original, strict=True)]
        assert np.abs(late).max() <= 0.001


@pytest.mark.parametrize("name", ["a.mkv", "a.avi"])
def test_sound_that_mp4_does_not_take_becomes_aac_in_step(tmp_path, name):
    source = write_clip(tmp_path / name, Clip(sounds=("pcm_s16le",)))
    video = made(tmp_path, source)
    table = properties({"source": source, "video": video}).set_index("file")
    assert list(table["audio_codec"]) == ["pcm_s16le", "aac"]
    was, now = sound_wave(source)[2000:20_000], sound_wave(video)[2000:20_000]
    assert np.corrcoef(was, now)[0, 1] > 0.99


def truncated(tmp_path: Path) -> Path:
    first = (("movflags", "+faststart"),)
    clip = Clip(starts=range(48), width=128, height=96, sounds=("aac",), container=first)
    whole = write_clip(tmp_path / "whole.mp4", clip).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    return tmp_path / "cut.mp4"


def test_a_truncated_video_is_kept_as_far_as_it_goes(tmp_path):
    source = truncated(tmp_path)
    video = made(tmp_path, source)
    assert 5 < len(decoded(video)[0]) < 48
    copied, original = (sound_packets(file) for file in (video, source))
    assert [data for _, data in copied] == [data for _, data in original]


def test_behind_a_damaged_frame_the_others_keep_their_times(tmp_path):
    first = 12
    clip = Clip(starts=range(first, first + 24), codec="mjpeg", width=128, height=96)
    source = write_clip(tmp_path / "a.mp4", clip)
    with av.open(str(source)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.dts is not None]
        where, size = packets[10].pos, packets[10].size
    damaged = bytearray(source.read_bytes())
    damaged[where : where + size] = bytes(size)
    source.write_bytes(damaged)
    video = made(tmp_path, source)
    assert decoded(video)[1] == [Fraction(n, 24) for n in range(24) if n != 10]


@pytest.mark.parametrize("where", ["network", "reader", "writer"])
def test_a_failing_stage_stops_all_and_leaves_nothing(tmp_path, clip, monkeypatch, where):
    def fail(*arguments: object) -> None:
        raise RuntimeError("melted")

    if where == "reader":
        monkeypatch.setattr("triptych.style.video.frames._matched", fail)
    if where == "writer":
        monkeypatch.setattr("triptych.style.video.writing.VideoWriter.write", fail)
    stylist = fail if where == "network" else same
    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="melted"):
        made(tmp_path, clip, stylist, batch=1)
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []


def test_a_network_as_stylist_gives_what_it_gives_by_itself_rounded():
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


@pytest.mark.parametrize(
    ("width", "lines", "written", "tagged"),
    [
        (48, 576, "ITU601", None),
        (48, 720, "ITU709", None),
        (1278, 48, "ITU601", None),
        (1281, 48, "ITU709", None),
        (48, 720, "ITU601", 6),
        (48, 576, "ITU709", 1),
    ],
)
def test_colours_of_an_untagged_film_follow_its_size_as_in_players(
    tmp_path, width, lines, written, tagged
):
    from av.video.reformatter import ColorRange, Colorspace

    colours = np.repeat([[(200, 30, 30), (30, 180, 60), (20, 40, 220)]], lines, 0)
    frame = np.repeat(colours, width // 3, 1).astype(np.uint8)
    matrix = {"dst_colorspace": Colorspace[written], "dst_color_range": ColorRange.MPEG}
    picture = av.VideoFrame.from_ndarray(frame, "rgb24").reformat(format="yuv444p", **matrix)
    more = {} if tagged is None else {"colorspace": tagged}
    source = write_stream(
        tmp_path / "a.mp4", "libx264", [picture], pix_fmt="yuv444p", options={"crf": "0"}, **more
    )
    ((shown, _),) = read_frames(probe(source))
    np.testing.assert_allclose(
        shown[10, 8 :: width // 3].astype(int), frame[10, 8 :: width // 3], atol=3
    )

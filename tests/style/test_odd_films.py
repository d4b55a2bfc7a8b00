"""Films of kinds that people bring and that no camera is meant to make."""

import logging
import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from av.stream import Disposition
from videos import (
    Clip,
    decoded,
    decoded_by_opencv,
    made,
    picture,
    sound_wave,
    write_clip,
    write_stream,
)

from triptych.core.errors import InputError
from triptych.style.video.frames import read_frames
from triptych.style.video.info import probe
from triptych.style.video.motion_jpeg import is_motion_jpeg
from triptych.style.video.packets import holds_film
from triptych.style.video.writing import VideoWriter


def joined(path: Path, *parts: Path) -> Path:
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def test_sound_of_a_rate_that_mp4_does_not_take_becomes_aac(tmp_path):
    with av.open(str(tmp_path / "a.mkv"), "w") as file:
        pictures = file.add_stream("libx264", rate=25)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        voice = file.add_stream("libmp3lame", rate=8000, layout="mono")
        for number in range(25):
            file.mux(pictures.encode(av.VideoFrame.from_ndarray(picture(number, 64, 48), "rgb24")))
        file.mux(pictures.encode(None))
        wave = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(wave[None] / 2, "fltp", "mono")
        frame.sample_rate, frame.pts, frame.time_base = 8000, 0, Fraction(1, 8000)
        file.mux(voice.encode(frame))
        file.mux(voice.encode(None))
    video = made(tmp_path, tmp_path / "a.mkv")
    assert len(decoded_by_opencv(video)) == 25
    heard = sound_wave(video)[9600:38_400]
    loudest = np.abs(np.fft.rfft(heard)).argmax() * 48_000 / len(heard)
    assert loudest == pytest.approx(440, abs=4)


def test_films_joined_end_to_end_go_on_with_their_sound(tmp_path):
    part = write_clip(tmp_path / "part.ts", Clip(starts=range(24), sounds=("aac",)))
    video = made(tmp_path, joined(tmp_path / "twice.ts", part, part))
    frames, times = decoded(video)
    assert times == [times[0] + Fraction(number, 24) for number in range(48)]
    np.testing.assert_array_equal(np.abs(np.subtract(frames[:24], frames[24:], dtype=int)) < 30, 1)
    once, twice = sound_wave(part), sound_wave(video)
    at = len(twice) - len(once) + 4800
    apart = max(
        range(-1200, 1200, 8),
        key=lambda by: np.corrcoef(once[4800:30_000], twice[at + by :][:25_200])[0, 1],
    )
    assert abs((at + apart - 4800) / 48_000 - 1) < 0.05


def test_whatever_sound_raises_the_picture_is_whole(tmp_path):
    def broken(output: object) -> Iterator[tuple[float, object]]:
        raise IndexError("no such packet")
        yield

    size, fps = (48, 64), Fraction(25)
    with VideoWriter(tmp_path / "a.mp4", size, fps, 1 / fps, sound=broken) as writer:
        for number in range(10):
            writer.write(picture(number, 64, 48), number)
        writer.finish(10)
    assert len(decoded(tmp_path / "a.mp4")[0]) == 10


def test_sound_of_an_unknown_codec_is_left_out_with_a_line(tmp_path, caplog):
    source = write_clip(tmp_path / "a.mp4", Clip(sounds=("aac",)))
    source.write_bytes(source.read_bytes().replace(b"mp4a", b"qqqq").replace(b"esds", b"free"))
    video = made(tmp_path, source)
    assert any(str(source) in line and "stream 1" in line for line in caplog.messages)
    with av.open(str(video)) as file:
        assert len(file.streams) == 1


def test_titles_languages_and_the_default_track_are_kept(tmp_path):
    plain = write_clip(tmp_path / "plain.mkv", Clip(sounds=("aac", "mp2")))
    source = tmp_path / "a.mkv"
    with av.open(str(plain)) as file, av.open(str(source), "w") as output:
        streams = {one.index: output.add_stream_from_template(one) for one in file.streams}
        for index, title, language in ((1, "Commentary", "deu"), (2, "Film", "eng")):
            streams[index].metadata.update(title=title, language=language)
        streams[1].disposition, streams[2].disposition = Disposition(0), Disposition.default
        output.metadata.update(title="Holiday", creation_time="2024-05-06T07:08:09.000000Z")
        output.metadata["location"] = "+48.2082+016.3738/"
        for packet in file.demux():
            if packet.size:
                packet.stream = streams[packet.stream_index]
                output.mux(packet)
    with av.open(str(made(tmp_path, source))) as file:
        assert file.metadata["title"] == "Holiday"
        assert file.metadata["creation_time"] == "2024-05-06T07:08:09.000000Z"
        assert file.metadata["location"] == "+48.2082+016.3738/"
        first, second = file.streams.audio
        assert [one.language for one in (first, second)] == ["deu", "eng"]
        titles = [one.metadata["handler_name"] for one in (first, second)]
        assert titles == ["Commentary", "Film"]
        defaults = [bool(one.disposition & Disposition.default) for one in (first, second)]
        assert defaults == [False, True]


@pytest.mark.parametrize("count", [9, 12])
@pytest.mark.parametrize(
    ("name", "container"),
    [("a.mp4", ()), ("a.mp4", (("movflags", "frag_keyframe+empty_moov"),)), ("a.mkv", ())],
)
def test_a_track_that_is_longer_than_its_last_picture_holds_it(
    tmp_path: Path, name: str, container: tuple[tuple[str, str], ...], count: int
) -> None:
    # The last packet isn't the last picture where B-frames end a film, as they do with 12.
    clip = Clip(range(count), Fraction(1, 25), last=98, fps=Fraction(25), container=container)
    video = made(tmp_path, write_clip(tmp_path / name, clip))
    ends = {9: 4.24, 12: 4.32}[count]  # as ffprobe tells the track's duration
    assert float(probe(video).duration) == pytest.approx(ends)


@pytest.mark.parametrize("bits", [8, 10])
def test_grey_films_of_limited_range_are_black_to_white(tmp_path, bits):
    black, white = 16 << (bits - 8), 235 << (bits - 8)
    kind = np.uint8 if bits == 8 else np.uint16
    ramp = np.tile(np.linspace(black, white, 128).round().astype(kind), (96, 1))
    options = {"x265-params": "log-level=none:range=limited:crf=1"}
    form = "gray" if bits == 8 else "gray10le"
    source = write_stream(
        tmp_path / "a.mp4", "libx265", [ramp] * 3, pix_fmt=form, color_range=1, options=options
    )
    shown = next(read_frames(probe(source)))[0]
    expected = (ramp[48].astype(float) - black) * 255 / (white - black)
    np.testing.assert_allclose(shown[48], np.stack([expected] * 3, -1), atol=3)
    assert (shown.min(), shown.max()) == (0, 255)


def test_a_picture_that_turns_on_the_way_is_fitted_with_black_beside_it(tmp_path):
    wide, high = [picture(9, 128, 96)] * 6, [picture(9, 96, 128)] * 6
    options = {"qscale": "1", "b": "8M"}
    parts = [
        write_stream(tmp_path / f"{n}.ts", "mpeg2video", frames, options=options)
        for n, frames in enumerate((wide, high))
    ]
    shown = [frame for frame, _ in read_frames(probe(joined(tmp_path / "a.ts", *parts)))]
    assert {frame.shape for frame in shown} == {(96, 128, 3)}
    expected = np.zeros((96, 128, 3))
    expected[:, 28:100] = cv2.resize(picture(9, 96, 128), (72, 96), interpolation=cv2.INTER_AREA)
    assert np.abs(shown[0].astype(int) - wide[0]).mean() < 4
    assert np.abs(shown[-1] - expected).mean() < 4
    assert not shown[-1][:, :27].any()


def test_a_film_whose_pixels_change_their_aspect_keeps_the_shape_of_things(tmp_path):
    parts = [
        write_stream(
            tmp_path / f"{n}.ts",
            "mpeg2video",
            [np.full((96, 128, 3), 200, np.uint8)] * 6,
            sample_aspect_ratio=aspect,
        )
        for n, aspect in enumerate((Fraction(1), Fraction(4, 3)))
    ]
    info = probe(joined(tmp_path / "a.ts", *parts))
    assert info.pixel_aspect == 1
    shown = [frame[:, 64, 0] > 100 for frame, _ in read_frames(info)]
    assert shown[0].all()
    np.testing.assert_array_equal(shown[-1], [12 <= row < 84 for row in range(96)])


def test_each_field_of_an_interlaced_film_keeps_its_own_colours(tmp_path):
    grey = np.full((96, 128, 3), 120, np.uint8)
    moved = grey.copy()
    moved[16:80, 32:96] = (220, 60, 60)
    woven = grey.copy()
    woven[1::2] = moved[1::2]
    fields = [
        av.VideoFrame.from_ndarray(np.ascontiguousarray(field), "rgb24").to_ndarray(
            format="yuv420p"
        )
        for field in (grey[::2], moved[1::2])
    ]
    planes = np.empty((144, 128), np.uint8)
    for first, last, width in ((0, 48, 128), (48, 60, 64), (60, 72, 64)):  # of Y, U and V
        rows = [field[first:last].reshape(-1, width) for field in fields]
        planes[2 * first : 2 * last] = np.stack(rows, 1).reshape(2 * (last - first), 128)
    options = {"flags": "+ilme+ildct", "b": "20M", "qmin": "1"}
    frames = [av.VideoFrame.from_ndarray(planes, "yuv420p") for _ in range(3)]
    source = write_stream(tmp_path / "a.mpg", "mpeg2video", frames, options=options)
    shown = next(read_frames(probe(source)))[0]
    away = np.ones((96, 128), bool)
    away[12:84, [*range(28, 36), *range(92, 100)]] = away[12:20] = away[76:84] = False
    assert np.abs(shown.astype(int) - woven)[away].max() < 16


@pytest.mark.parametrize("name", ["a.h264", "a.hevc", "a.m2v"])
def test_bare_streams_have_all_their_frames_in_the_order_of_showing(tmp_path, name):
    codec = {"a.h264": "libx264", "a.hevc": "libx265", "a.m2v": "mpeg2video"}[name]
    frames = [picture(number, 128, 96) for number in range(20)]
    options = {"bf": "2", "b": "8M", "x265-params": "log-level=none"}
    source = write_stream(tmp_path / name, codec, frames, options=options)
    found, times = decoded(made(tmp_path, source))
    assert times == [Fraction(number, 25) for number in range(20)]
    assert np.abs(np.subtract(found, frames, dtype=int)).mean(axis=(1, 2, 3)).max() < 12


def jpeg(number: int) -> bytes:
    return cv2.imencode(".jpg", picture(number, 128, 96)[..., ::-1])[1].tobytes()


@pytest.mark.parametrize("name", ["a.mjpeg", "a.mjpg", "a.jpg"])
@pytest.mark.parametrize("padding", [b"", bytes(5)])
def test_jpegs_in_a_row_are_a_film(tmp_path, name, padding):
    from triptych.apps.pictures.work_list import work_list

    source = tmp_path / name
    source.write_bytes(padding.join(map(jpeg, range(12))))
    assert [item.kind for item in work_list([source], tmp_path / "results").items] == ["video"]
    frames = [frame for frame, _ in read_frames(probe(source))]
    assert (
        np.abs(np.subtract(frames, [picture(n, 128, 96) for n in range(12)], dtype=int)).mean() < 9
    )


def test_a_photograph_with_smaller_copies_behind_it_is_no_film(tmp_path):
    source, (first, *others) = tmp_path / "a.jpg", [jpeg(number) for number in range(4)]
    views = b"\xff\xe2" + struct.pack(">H", 6) + b"MPF\0"
    source.write_bytes(first[:2] + views + first[2:] + b"".join(others))
    assert not is_motion_jpeg(source)
    source.write_bytes(first)
    assert not is_motion_jpeg(source)


@pytest.mark.parametrize(
    "listing",
    ["#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{}\n", "ffconcat version 1.0\nfile {}\n"],
)
def test_a_playlist_is_not_followed(tmp_path, listing):
    write_clip(tmp_path / "other.ts", Clip())
    source = tmp_path / "film.mp4"
    source.write_text(listing.format("other.ts"))
    assert not holds_film(source)
    with pytest.raises(InputError, match=r"film\.mp4"):
        probe(source)


@pytest.mark.parametrize(("curve", "name"), [(16, "PQ"), (18, "HLG"), (1, None)])
def test_high_dynamic_range_is_warned_of(tmp_path, caplog, curve, name):
    source = write_stream(
        tmp_path / "a.mp4",
        "libx265",
        [picture(0, 64, 64)] * 2,
        pix_fmt="yuv420p10le",
        color_trc=curve,
        options={"x265-params": "log-level=none"},
    )
    with caplog.at_level(logging.WARNING):
        probe(source)
    assert [f"({name})" in line for line in caplog.messages] == [True] * (name is not None)

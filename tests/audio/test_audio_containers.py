"""Files whose name, header or clock says another thing than their data."""

import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile
from sound_files import (
    damaged,
    encode,
    joined,
    read_audio,
    rising,
    stating,
    times_heard,
    tone,
    without_length,
    write,
)

from triptych.audio.data.decoding import AudioProblem, readable, stream_audio

TAG = b"ID3\3\0\0\0\0\x4e\x10" + np.random.default_rng(0).bytes(10_000).replace(b"\xff", b"\0")
BARE = {"write_xing": "0", "id3v2_version": "0"}
"""An MP3 that is frames and nothing else."""


def mp3(path: Path, begin: float, rate: int, bit_rate: int, **options: str) -> Path:
    samples = rising(begin, begin + 3, rate)
    return encode(path, samples, rate, "libmp3lame", bit_rate=bit_rate, **options)


def bare_mp3(path: Path, begin: float, rate: int, bit_rate: int) -> Path:
    return mp3(path, begin, rate, bit_rate, **BARE)


def plain(path: Path, begin: float, rate: int, subtype: str | None = None) -> Path:
    return write(path, rising(begin, begin + 3, rate), rate, subtype)


def halves(path: Path, make: Callable[..., Path], *kinds: tuple[Any, ...]) -> list[Path]:
    """Two files of three seconds of `rising`, to be joined."""
    names = [f"{number}{path.suffix.replace('opus', 'ogg')}" for number in (0, 1)]
    return [make(path.with_name(name), 3 * n, *kinds[n]) for n, name in enumerate(names)]


def chained(path: Path, make: Callable[..., Path], *kinds: tuple[Any, ...]) -> Path:
    return joined(path, *halves(path, make, *kinds))


def with_tags(path: Path) -> Path:
    first, second = halves(path, mp3, (32_000, 64_000), (32_000, 160_000))
    return joined(path, TAG, first, b"TAG" + bytes(125), TAG, second, bytes(9000))


def in_riff(path: Path) -> Path:
    """Of a varying bit rate, in a WAV by another name, as libsndfile#779 has it."""
    frames = chained(path, bare_mp3, (32_000, 32_000), (32_000, 160_000)).read_bytes()
    whole = encode(path, tone(1.0, 32_000), 32_000, "libmp3lame", "wav").read_bytes()
    head = whole[: whole.index(b"data") + 4]
    return joined(path, head, len(frames).to_bytes(4, "little"), frames)


def wav(path: Path, stated: int) -> Path:
    return stating(write(path, rising(0, 6, 32_000), 32_000), stated)


VORBIS, VORBIS_44, OPUS = (32_000, "VORBIS"), (44_100, "VORBIS"), (48_000, "OPUS")
READ_TO_THE_END = {
    "two bit rates.mp3": lambda p: chained(p, bare_mp3, (32_000, 32_000), (32_000, 160_000)),
    "two sample rates.mp3": lambda p: chained(  # SYSTRAN/faster-whisper#1451
        p, bare_mp3, (32_000, 64_000), (44_100, 128_000)
    ),
    "joined with tags.mp3": with_tags,
    "riff.mp3": in_riff,
    "chained.ogg": lambda p: chained(p, plain, VORBIS, VORBIS),
    "chained of two rates.ogg": lambda p: chained(p, plain, VORBIS, VORBIS_44),
    "chained of two codecs.ogg": lambda p: chained(p, plain, VORBIS_44, OPUS),
    "chained.opus": lambda p: chained(p, plain, OPUS, OPUS),
    "joined.flac": lambda p: chained(p, plain, (32_000,), (32_000,)),
    "unknown.flac": lambda p: without_length(write(p, rising(0, 6, 32_000), 32_000)),
    "piped.wav": lambda p: wav(p, 0xFFFFFFFF),
    "piped by sox.wav": lambda p: wav(p, 0x7FFFF000),
    "stated as nothing.wav": lambda p: wav(p, 0),
    "a chunk behind.wav": lambda p: joined(p, wav(p, 384_000), b"LIST\4\0\0\0abcd"),
}


@pytest.mark.parametrize("name", READ_TO_THE_END)
def test_a_sound_is_read_to_the_end_of_its_data(tmp_path: Path, name: str) -> None:
    path = READ_TO_THE_END[name](tmp_path / name)
    whole = read_audio(path)
    assert len(whole) / 32_000 == pytest.approx(6, abs=0.15)
    starts = (0.5, 2.0, 3.5, 5.0)
    assert times_heard(whole, starts) == pytest.approx(starts, abs=0.12)
    window = read_audio(path, 4.0, 1.5)
    assert times_heard(window, (0.0, 1.0)) == pytest.approx(
        times_heard(whole, (4.0, 5.0)), abs=0.02
    )


NOISE = np.random.default_rng(0).bytes(64_000)


@pytest.mark.parametrize("behind", [NOISE, b"LIST" + NOISE[:99], b"\xff\xd8\xff\xe0" + NOISE])
@pytest.mark.parametrize("size", [384_000, 383_999])
def test_what_stands_behind_a_wavs_data_is_no_sound(
    tmp_path: Path, behind: bytes, size: int
) -> None:
    """Another file on a memory card, a cover, a chunk whose pad byte is missing."""
    path = joined(tmp_path / "a.wav", wav(tmp_path / "b.wav", size), behind)
    expected = soundfile.read(tmp_path / "b.wav", dtype="float32")[0][: size // 2]
    np.testing.assert_array_equal(read_audio(path)[: size // 2], expected)
    assert len(read_audio(path)) <= 192_000


@pytest.mark.parametrize("kind", ["RF64", "BW64", "AVI"])
def test_a_cut_file_with_a_length_is_told(tmp_path: Path, kind: str) -> None:
    if kind == "AVI":
        path = encode(tmp_path / "a.avi", rising(0, 6, 32_000), 32_000, "pcm_s16le")
    else:
        path = write(tmp_path / "a.rf64", rising(0, 6, 32_000), 32_000, "PCM_16")
        path.write_bytes(path.read_bytes().replace(b"RF64", kind.encode(), 1))
    assert len(read_audio(path)) == 192_000
    os.truncate(path, path.stat().st_size // 2)
    problems: list[str] = []
    assert sum(map(len, readable(stream_audio(path), problems))) == pytest.approx(96_000, rel=0.05)
    told = re.search("truncated, .* of (.+) s are there", *problems)
    assert told and float(told[1]) == pytest.approx(6, rel=0.05)


def test_a_wav_of_more_than_4_gb_is_read_behind_them(tmp_path: Path) -> None:
    """Its header has room for the length modulo 4 GB; the file is sparse."""
    path = stating(write(tmp_path / "long.wav", np.zeros(100), 32_000), 200)
    seconds = 2**32 / 64_000 + 10
    os.truncate(path, 44 + round(seconds * 64_000))
    with path.open("ab") as stream:
        stream.write((32767 * rising(0, 2, 32_000)).astype("<i2").tobytes())
    assert times_heard(read_audio(path, seconds + 1, 0.5), [0.0]) == pytest.approx([1.0], abs=0.02)


@pytest.mark.parametrize(
    ("name", "made_as", "codec"),
    [
        ("m4a named.mp3", "a.m4a", "aac"),
        ("webm named.wav", "a.webm", "libopus"),
        ("flac without suffix", "a.flac", "flac"),
        ("wav.ogg", "a.wav", "pcm_s16le"),
        ("a.wma", "b.wma", "wmav2"),
    ],
)
def test_the_content_and_not_the_name_says_what_a_file_is(
    tmp_path: Path, name: str, made_as: str, codec: str
) -> None:
    encode(tmp_path / made_as, rising(0, 3, 48_000), 48_000, codec).rename(tmp_path / name)
    assert times_heard(read_audio(tmp_path / name), [1.0]) == pytest.approx([1.0], abs=0.05)


def test_a_pause_in_the_clock_is_silence_for_the_whole_and_for_windows(tmp_path: Path) -> None:
    samples = rising(0, 8, 48_000)
    path = encode(tmp_path / "a.mkv", samples, 48_000, "aac", gap=(4.0, 10.0))
    whole = read_audio(path)
    assert len(whole) / 32_000 == pytest.approx(18, abs=0.1)
    expected = {1.0: 1, 3.0: 3, 6.0: None, 12.0: None, 15.0: 5, 17.0: 7}
    heard = times_heard(whole, expected)
    windows = [times_heard(read_audio(path, start, 0.5), [0.0])[0] for start in expected]
    for times in (heard, windows):
        assert times == [time and pytest.approx(time, abs=0.05) for time in expected.values()]


@pytest.mark.parametrize(("name", "codec"), [("a.mpg", "mp2"), ("a.mkv", "aac"), ("a.ts", "mp2")])
def test_the_sound_of_a_film_is_read_wherever_a_window_lies(
    tmp_path: Path, name: str, codec: str
) -> None:
    """A transport stream's clock begins at 1.4 s; this film's sound begins behind its picture."""
    samples = rising(0, 12, 48_000)
    path = encode(tmp_path / name, samples, 48_000, codec, picture=True, gap=(0.0, 2.0))
    whole = times_heard(read_audio(path), (3.0, 9.0))
    assert whole == pytest.approx((1.0, 7.0), abs=0.15)
    assert times_heard(read_audio(path, 9.0, 0.5), [0.0]) == pytest.approx(whole[1:], abs=0.05)


def test_of_a_films_sounds_the_one_that_players_choose_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("pcm_s16le", rate=8000, layout="mono") for _ in range(3)]
        for stream, disposition in zip(streams, ("comment", "dub", "default"), strict=True):
            stream.disposition = av.stream.Disposition[disposition]
        for stream, hertz in zip(streams, (200.0, 300.0, 400.0), strict=True):
            samples = (32767 * tone(1.0, 8000, hertz=hertz)).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(samples[None], "s16", "mono")
            frame.rate, frame.pts = 8000, 0
            container.mux([*stream.encode(frame), *stream.encode(None)])
    spectrum = np.abs(np.fft.rfft(read_audio(path)[:32_000]))
    assert spectrum.argmax() == 400


def test_where_the_first_track_is_silent_another_one_is_taken_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As of a camera whose first microphone isn't plugged in."""
    with av.open(str(tmp_path / "a.mov"), "w") as container:
        streams = [container.add_stream("pcm_s16le", rate=8000, layout="mono") for _ in range(2)]
        for stream, amplitude in zip(streams, (0.0, 0.5), strict=True):
            samples = (32767 * tone(2.0, 8000, amplitude)).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(samples[None], "s16", "mono")
            frame.rate, frame.pts = 8000, 0
            container.mux([*stream.encode(frame), *stream.encode(None)])
    assert np.abs(np.fft.rfft(read_audio(tmp_path / "a.mov")[:32_000])).argmax() == 440
    assert "a.mov: track 0 is silent; track 1 is taken" in caplog.text


def test_a_broadcast_whose_tracks_change_their_numbers_is_read_to_its_end(tmp_path: Path) -> None:
    parts = [
        encode(
            tmp_path / f"{pid}.ts",
            rising(begin, begin + 6, 48_000),
            48_000,
            "mp2",
            bit_rate=192_000,
            mpegts_start_pid=str(pid),
        )
        for begin, pid in ((0, 256), (6, 512))
    ]
    read = read_audio(joined(tmp_path / "a.ts", *parts))
    starts = (1.0, 4.0, 8.0, 11.0)
    assert times_heard(read, starts) == pytest.approx(starts, abs=0.2)


@pytest.mark.parametrize(
    ("name", "codec", "form"),
    [
        ("a.m4a", "aac", "ipod"),
        ("a.mka", "aac", "matroska"),
        ("a.opus", "libopus", "opus"),
        ("a.flac", "flac", None),
        ("a.wv", "wavpack", None),
        ("a.mp3", "libmp3lame", None),
    ],
)
def test_damage_in_the_middle_is_passed_over_and_told_in_seconds(
    tmp_path: Path, name: str, codec: str, form: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    path = encode(tmp_path / name, rising(0, 20, 48_000), 48_000, codec, form)
    damaged(path, 0.5, 3000)
    problems: list[str] = []
    whole = np.concatenate(list(readable(stream_audio(path), problems)))
    [problem] = problems
    told = re.search(rf"{name}: damaged, (.+) s of (.+) s are missing", problem)
    assert told and 0.01 < float(told[1]) < 5.5 and float(told[2]) == pytest.approx(20, abs=0.3)
    assert times_heard(whole, (5.0, 18.0)) == pytest.approx((5, 18), abs=0.35)
    assert capfd.readouterr() == ("", "")  # no decoder's own messages


@pytest.mark.parametrize(("name", "codec"), [("a.flac", "flac"), ("a.m4a", "aac")])
def test_a_damaged_frame_is_silence_of_its_length_and_told(
    tmp_path: Path, name: str, codec: str
) -> None:
    """Of a tenth of a second, where players' own filters would close the gap."""
    path = encode(tmp_path / name, rising(0, 10, 48_000), 48_000, codec)
    whole = read_audio(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(600) + data[len(data) // 2 + 600 :])
    problems: list[str] = []
    read = np.concatenate(list(readable(stream_audio(path), problems)))
    assert len(problems) == 1 and re.search(r"damaged, 0\.\d+ s", problems[0])
    assert len(read) == pytest.approx(len(whole), abs=32)
    rest = slice(240_000, len(read) - 4000)
    np.testing.assert_allclose(read[rest], whole[rest], atol=0.05)


def test_a_damaged_last_frame_of_a_flac_is_told(tmp_path: Path) -> None:
    """PyAV drops it, PyAV-Org/PyAV#2044."""
    path = write(tmp_path / "a.flac", rising(0, 5, 48_000), 48_000)
    data = bytearray(path.read_bytes())
    data[-300] ^= 0x55
    path.write_bytes(data)
    problems: list[str] = []
    seconds = sum(map(len, readable(stream_audio(path), problems))) / 32_000
    assert 4.5 < seconds < 5
    assert re.search("truncated, .* of 5.0 s are there", *problems)


def test_a_damaged_clock_makes_no_hours_of_seconds(tmp_path: Path) -> None:
    """An AVI whose header gives each packet two seconds or 2,000."""
    for scale in (1 << 8, 1 << 15):
        path = encode(tmp_path / "a.avi", rising(0, 3, 16_000), 16_000, "pcm_s16le")
        data = bytearray(path.read_bytes())
        place = data.index(b"strh") + 8 + 20  # dwScale
        assert struct.unpack_from("<II", data, place) == (1, 16_000)
        struct.pack_into("<I", data, place, scale)
        path.write_bytes(data)
        assert times_heard(read_audio(path), (1.0,)) == pytest.approx([1.0], abs=0.05)
        assert len(read_audio(path)) < 4 * 32_000


def silent_film(path: Path) -> None:
    encode(path, np.zeros(0), 48_000, "aac", picture=True)


def playlist(path: Path) -> None:
    """What FFmpeg left to itself would open, whatever the name."""
    secret = encode(path.with_name("secret.m4a"), tone(1.0, 32_000), 32_000, "aac")
    path.write_text(f"#EXTM3U\n#EXTINF:1,\n{secret}\n#EXT-X-ENDLIST\n")


def picture(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))


@pytest.mark.parametrize(
    ("name", "made", "said"),
    [
        ("film.mp4", silent_film, "holds no sound"),
        ("list.m4a", playlist, "not sound"),
        ("picture.wav", picture, "not sound"),
    ],
)
def test_what_holds_no_sound_is_told_with_the_reason(tmp_path, name, made, said) -> None:
    made(tmp_path / name)
    with pytest.raises(AudioProblem, match=f"{name}: {said}"):
        read_audio(tmp_path / name)

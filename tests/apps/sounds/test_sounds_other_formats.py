"""Sound that libsndfile does not read, against the samples that were encoded."""

import av
import numpy as np
import pytest
import soundfile
from sound_files import tone

from triptych.apps.sounds.search.other_formats import stream_any, stream_other
from triptych.audio.data.decoding import AudioProblem

CODECS = {"a.m4a": "aac", "a.aac": "aac", "a.wma": "wmav2", "a.wv": "wavpack"}


def encode(path, samples: np.ndarray, rate: int, codec: str) -> None:
    """Channels [C, frames], one or two of them."""
    layout = {1: "mono", 2: "stereo"}[len(samples)]
    form = {".wma": "asf", ".m4a": "ipod", ".aac": "adts"}.get(path.suffix)
    with av.open(str(path), "w", format=form) as container:
        stream = container.add_stream(codec, rate=rate, layout=layout)
        if codec == "wavpack":
            stream.format = "s16p"
        else:
            stream.bit_rate = 192_000
        frame = av.AudioFrame.from_ndarray(samples.astype(np.float32), "fltp", layout)
        frame.rate = rate
        resampler = av.AudioResampler(stream.format, layout, rate, frame_size=1024)
        for each in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(each))
        container.mux(stream.encode(None))


def decoded(path) -> np.ndarray:
    return np.concatenate(list(stream_other(path)))


@pytest.mark.parametrize("name", ["a.m4a", "a.wma", "a.wv"])
def test_what_was_encoded_comes_back_mono_at_32_khz(tmp_path, name):
    left, right = tone(2.0, 48_000), tone(2.0, 48_000, hertz=660.0)
    encode(tmp_path / name, np.stack([left, right]), 48_000, CODECS[name])
    found = decoded(tmp_path / name)
    assert found.dtype == np.float32 and abs(len(found) - 64_000) < 5_000  # a codec's padding
    expected = (tone(2.0, 32_000) + tone(2.0, 32_000, hertz=660.0)) / 2
    # Some codecs begin late; the shift at which the two agree best is found first.
    middle = expected[20_000:40_000]
    errors = [
        np.abs(found[20_000 + shift : 40_000 + shift] - middle).max() for shift in range(3_200)
    ]
    assert min(errors) < 0.03


@pytest.mark.parametrize("name", ["a.m4a", "a.aac", "a.flac"])
@pytest.mark.parametrize("start", [0.5, 12.0])
def test_a_window_is_where_the_whole_file_has_it(tmp_path, name, start):
    """The pitch rises by 10 Hz a second, so that a place is known by its pitch."""
    times = np.arange(20 * 32_000) / 32_000
    samples = 0.5 * np.sin(2 * np.pi * (500 * times + 5 * times**2))
    if name == "a.flac":
        soundfile.write(tmp_path / name, samples, 32_000)
    else:
        encode(tmp_path / name, samples[None], 32_000, CODECS[name])
    found = np.concatenate(list(stream_any(tmp_path / name, start, 2.0)))
    assert len(found) == 64_000
    power = np.abs(np.fft.rfft(found[:32_000] * np.hanning(32_000)))
    assert power.argmax() == pytest.approx(500 + 10 * (start + 0.5), abs=2)  # to 0.2 s


def video(path, tmp_path):
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        black = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        container.mux(stream.encode(black))
        container.mux(stream.encode(None))


def truncated(path, tmp_path):
    encode(path, tone(20.0, 32_000)[None], 32_000, CODECS["a" + path.suffix])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def playlist(path, tmp_path):
    """What FFmpeg left to itself would open, whatever the name."""
    encode(tmp_path / "secret.m4a", tone(1.0, 32_000)[None], 32_000, "aac")
    path.write_text(f"#EXTM3U\n#EXTINF:1,\n{tmp_path / 'secret.m4a'}\n#EXT-X-ENDLIST\n")


@pytest.mark.parametrize(
    ("name", "made", "said"),
    [
        ("a.mp4", video, "holds no sound"),
        ("a.wma", truncated, "damaged after 9"),
        ("a.m4a", truncated, "not sound"),  # its table stood at the end
        ("a.m4a", playlist, "not sound"),
        ("b.m4a", lambda path, _: path.write_bytes(b""), "an empty file"),
    ],
)
def test_what_cannot_be_used_is_told_with_the_reason(tmp_path, name, made, said):
    made(tmp_path / name, tmp_path)
    with pytest.raises(AudioProblem, match=f"{name}: {said}"):
        decoded(tmp_path / name)

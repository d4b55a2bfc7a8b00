"""Sound files of all kinds as mono at 32 kHz."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sound_files import FORMATS, header_only, noise, read_audio, tone, write

from triptych.audio.data.decoding import SAMPLE_RATE, AudioProblem, stream_audio

PCM = [
    *(("wav", kind) for kind in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")),
    *(("flac", kind) for kind in ("PCM_S8", "PCM_16", "PCM_24")),
    *[("aiff", "PCM_24"), ("caf", "PCM_16"), ("w64", "PCM_16"), ("rf64", "PCM_16")],
    *[("au", "PCM_16"), ("wav", "ULAW")],
]
# Off the ends, where a tone that begins or ends at once has more than one frequency.
MIDDLE = slice(3200, -3200)


@pytest.mark.parametrize(("suffix", "subtype"), PCM)
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_pcm_comes_bit_for_bit_as_libsndfile_has_it(
    tmp_path: Path, suffix: str, subtype: str, channels: int
) -> None:
    samples = np.stack([noise(32_017, seed) for seed in range(channels)], axis=1)
    path = write(tmp_path / f"noise.{suffix}", samples, 32_000, subtype)
    expected = soundfile.read(path, dtype="float32", always_2d=True)[0].mean(axis=1)
    np.testing.assert_array_equal(read_audio(path), expected)


@pytest.mark.parametrize("suffix", ["mp3", "ogg"])
def test_lossy_formats_come_as_libsndfile_has_them(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"noise.{suffix}", noise(5 * 32_000), 32_000)
    np.testing.assert_allclose(
        read_audio(path), soundfile.read(path, dtype="float32")[0], atol=1e-5
    )


@pytest.mark.parametrize(
    ("suffix", "rate"),
    [*((suffix, 44_100) for suffix in FORMATS), ("wav", 8_000), ("wav", 22_051)],
)
def test_a_tone_is_the_same_tone_at_32_khz(tmp_path: Path, suffix: str, rate: int) -> None:
    path = write(tmp_path / f"tone.{suffix}", tone(1.0, rate), rate)
    read = read_audio(path)
    assert read.dtype == np.float32
    # FFmpeg leaves out a short Vorbis file's first block, of 128 samples.
    padding = 93 if suffix == "ogg" else 1
    assert abs(len(read) - soundfile.info(path).duration * SAMPLE_RATE) <= padding
    difference = (read[:SAMPLE_RATE] - tone(1.0, SAMPLE_RATE)[: len(read)])[MIDDLE]
    assert np.abs(difference).max() < (2e-4 if suffix in ("wav", "flac") else 0.05)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("rate", [32_000, 44_100])
def test_a_window_holds_what_the_whole_holds_there(tmp_path: Path, suffix: str, rate: int) -> None:
    path = write(tmp_path / f"noise.{suffix}", noise(6 * rate), rate)
    whole = read_audio(path)
    for start, seconds in ((0.0, 1.0), (0.1, 0.5), (2.34567, 1.5), (5.9, 0.1)):
        first = round(start * SAMPLE_RATE)
        expected = whole[first : first + round(seconds * SAMPLE_RATE)]
        np.testing.assert_allclose(read_audio(path, start, seconds), expected, atol=1e-6)


@pytest.mark.parametrize("suffix", ["wav", "flac"])
@pytest.mark.parametrize("window", [(0.0, None), (55.0, 2.0)], ids=["streamed", "window"])
def test_a_long_file_is_never_in_memory_whole(
    tmp_path: Path, suffix: str, window: tuple[float, float | None]
) -> None:
    path = tmp_path / f"long.{suffix}"
    second = np.stack([noise(44_100), noise(44_100, 1)], axis=1)
    whole = np.tile(second, (60, 1)).astype(np.float32)
    write(path, whole, 44_100)
    tracemalloc.start()
    frames = sum(len(block) for block in stream_audio(path, *window))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert frames == (60 if window[1] is None else 2) * SAMPLE_RATE
    assert peak < whole.nbytes / 7


def test_channels_of_opposite_phase_give_the_louder_one_and_say_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loud = noise(32_000)
    path = write(tmp_path / "opposite.wav", np.stack([-0.9 * loud, loud], 1), 32_000)
    np.testing.assert_array_equal(read_audio(path), soundfile.read(path, dtype="float32")[0][:, 1])
    assert "opposite.wav: its channels cancel each other" in caplog.text


@pytest.mark.parametrize("begins_silent", [False, True])
@pytest.mark.parametrize("addition", ["offset", "hum"])
def test_neither_an_offset_nor_hum_hides_opposite_phases(
    tmp_path: Path, addition: str, begins_silent: bool
) -> None:
    loud = noise(6 * 32_000)
    loud[: begins_silent * 4 * 32_000] = 0
    same = 0.05 if addition == "offset" else tone(6, 32_000, 0.4, 50.0)
    path = write(tmp_path / "a.wav", np.stack([same - 0.9 * loud, same + loud], 1) / 2, 32_000)
    expected = soundfile.read(path, dtype="float32")[0][:, 1]
    np.testing.assert_array_equal(read_audio(path)[-64_000:], expected[-64_000:])
    stereo = np.stack([noise(64_000), noise(64_000, 1)], 1)  # of a wide recording the mean stays
    wide = read_audio(write(tmp_path / "b.wav", stereo, 32_000))
    np.testing.assert_allclose(wide, stereo.mean(1), atol=1e-4)


def test_samples_that_are_no_numbers_are_silent_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    samples = tone(3, 44_100)
    samples[44_100] = np.nan
    samples[50_000] = np.inf
    read = read_audio(write(tmp_path / "nan.wav", samples, 44_100, "FLOAT"))
    assert len(read) == 96_000 and np.isfinite(read).all()
    assert np.abs(read - tone(3, 32_000))[40_000:].max() < 1e-3
    assert "nan.wav: some samples are no numbers" in caplog.text


@pytest.mark.parametrize(("rate", "hertz"), [(192_000, 45_000), (48_000, 20_000)])
@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
def test_a_sound_above_the_range_alone_is_told(
    tmp_path: Path, rate: int, hertz: float, subtype: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Bats: what is left is noise of rounding."""
    samples = tone(2.0, rate, hertz=hertz) * np.hanning(2 * rate)
    read_audio(
        write(tmp_path / "with a cricket.wav", samples + tone(2.0, rate, 0.003), rate, subtype)
    )
    assert not caplog.text
    bats = read_audio(write(tmp_path / "bats.wav", samples, rate, subtype))
    assert np.abs(bats).max() < 1e-4
    assert "bats.wav: silent, for all of its sound lies above 16 kHz" in caplog.text


def test_a_wav_without_samples_but_with_a_title_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "empty.wav", noise(0), 32_000)
    path.write_bytes(path.read_bytes() + b"LIST" + (26).to_bytes(4, "little") + bytes(26))
    with pytest.raises(AudioProblem, match=r"empty\.wav: holds no samples"):
        read_audio(path)


def test_a_flac_without_any_samples_is_told(tmp_path: Path) -> None:
    """As six of WavCaps' are."""
    with pytest.raises(AudioProblem, match=r"empty\.flac: holds no samples"):
        read_audio(header_only(tmp_path / "empty.flac"))

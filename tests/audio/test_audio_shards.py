"""Clips converted into shards, and windows of them read back."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from sound_files import noise, read_audio, write

from triptych.audio.data import shard_writing as module
from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.shard_writing import write_shards
from triptych.audio.data.shards import KINDS, ClipStore
from triptych.core.errors import InputError

STEP = 1 / 32768
Sounds = tuple[Path, list[str]]


def convert(folder: Folder, names: list[str], target: Path, kind: str, **more: Any) -> ClipStore:
    clips = pd.DataFrame({"clip": [f"toy/train/{name}" for name in names], "path": names})
    room = target.with_name(f"checkpoint of {target.name}")
    write_shards(clips, folder, target, kind, checkpoint=room, **more)
    return ClipStore([target])


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def sounds(tmp_path: Path) -> Sounds:
    """A folder with clips of several formats, rates and lengths, and their names."""
    folder = tmp_path / "sounds"
    rates = {"one.wav": 44_100, " leading space.wav": 44_100, "two.flac": 32_000}
    rates |= {"stereo.wav": 48_000, "three.ogg": 22_050, "deep/er.flac": 44_100}
    for seed, (name, rate) in enumerate(rates.items()):
        samples = noise(20_000 + 5_000 * seed, seed)
        write(folder / name, np.stack([samples, samples], 1) if "stereo" in name else samples, rate)
    return folder, list(rates)


both_kinds = pytest.mark.parametrize("kind", KINDS)


@both_kinds
def test_clips_and_windows_of_them_come_back_within_half_a_step(
    sounds: Sounds, tmp_path: Path, kind: str
) -> None:
    store = convert(Folder(sounds[0]), sounds[1], tmp_path / "shards", kind)
    assert list(store) == [f"toy/train/{name}" for name in sounds[1]]
    for name in sounds[1]:
        clip = f"toy/train/{name}"
        expected, whole = read_audio(sounds[0] / name), store.read(clip)
        assert whole.dtype == np.float32 and store.frames(clip) == len(whole) == len(expected)
        assert np.abs(whole - expected).max() <= 0.5001 * STEP
        for start, count in ((0, 1), (len(whole) - 1, 1), (4097, 5000), (len(whole) // 3, None)):
            end = len(whole) if count is None else start + count
            np.testing.assert_array_equal(store.read(clip, start, count), whole[start:end])


@both_kinds
def test_floating_point_above_full_scale_is_scaled_and_told_and_one_nan_costs_no_clip(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    loud = 3 * noise(64_000)
    write(tmp_path / "loud.wav", loud, 32_000, "FLOAT")
    damaged = noise(64_000)
    damaged[1000] = np.nan
    write(tmp_path / "nan.wav", damaged, 32_000, "DOUBLE")
    store = convert(Folder(tmp_path), ["loud.wav", "nan.wav"], tmp_path / "shards", kind)
    expected = loud / np.abs(loud.astype(np.float32)).max()
    assert np.abs(store.read("toy/train/loud.wav") - expected).max() <= 1.01 * STEP
    assert "loud.wav: exceeds full scale" in caplog.text
    assert store.frames("toy/train/nan.wav") == 64_000
    np.testing.assert_allclose(
        store.read("toy/train/nan.wav")[2000:], damaged[2000:], atol=0.51 * STEP
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_clip_of_audiocaps_is_cut_from_a_whole_video(tmp_path: Path, kind: str) -> None:
    starts = {
        "clip.wav": "7",
        "video.flac": "12.5",
        "end.wav": "25",
        "no.wav": "",
        "over.wav": "30",
    }
    for name in starts:
        seconds = 10 if name == "clip.wav" else 30
        write(tmp_path / name, noise(seconds * 32_000), 32_000)
    clips = pd.DataFrame({"path": starts.keys(), "start_seconds": starts.values()})
    clips["clip"] = "audiocaps/train/" + clips["path"]
    target = tmp_path / "shards"
    write_shards(clips, Folder(tmp_path), target, kind, checkpoint=tmp_path / "room")
    store = ClipStore([target])
    frames = {clip.rpartition("/")[2]: store.frames(clip) for clip in store}
    assert frames == {"clip.wav": 320_000, "video.flac": 320_000, "end.wav": 160_000}
    video, _ = soundfile.read(tmp_path / "video.flac", dtype="float32")
    np.testing.assert_array_equal(store.read("audiocaps/train/video.flac"), video[400_000:720_000])
    problems = pd.read_csv(target / "problems.csv").set_index("clip")["problem"]
    assert "no start_time" in problems["audiocaps/train/no.wav"]
    assert "start_time, 30 s" in problems["audiocaps/train/over.wav"]


@both_kinds
def test_sixteen_bits_at_32_khz_pass_unchanged(tmp_path: Path, kind: str) -> None:
    samples = np.random.default_rng(0).integers(-32768, 32768, 20_000).astype(np.int16)
    soundfile.write(tmp_path / "all.wav", samples, 32_000)
    store = convert(Folder(tmp_path), ["all.wav"], tmp_path / "shards", kind)
    np.testing.assert_array_equal(store.read("toy/train/all.wav") * 32768, samples)


def test_mp3_at_32_khz_stays_as_it_is_and_is_read_by_windows(tmp_path: Path) -> None:
    """A decoder that begins in the middle is off by a step now and then, and never in time."""
    for name in ("a.mp3", "b.mp3"):
        write(tmp_path / name, noise(96_000), 32_000)
    store = convert(Folder(tmp_path), ["a.mp3", "b.mp3"], tmp_path / "shards", "flac")
    stored = (tmp_path / "shards" / "00000.flacs").read_bytes()
    assert stored == (tmp_path / "a.mp3").read_bytes() + (tmp_path / "b.mp3").read_bytes()
    whole, _ = soundfile.read(tmp_path / "b.mp3", dtype="float32")
    for start, frames in ((0, 96_000), (1, 500), (40_001, 32_000), (95_000, 1000)):
        window = store.read("toy/train/b.mp3", start, frames)
        assert np.abs(window - whole[start : start + frames]).max() <= 2 * STEP


def test_a_clip_is_found_in_another_format_and_form_of_unicode(tmp_path: Path) -> None:
    write(tmp_path / "cafe\u0301" / "re\u0301cit.flac", noise(5000), 32_000)
    (tmp_path / "cafe\u0301" / "re\u0301cit.json").write_text("{}")
    store = convert(Folder(tmp_path), ["caf\u00e9/r\u00e9cit.wav"], tmp_path / "out", "int16")
    assert store.frames("toy/train/caf\u00e9/r\u00e9cit.wav") == 5000


def test_a_number_in_a_name_is_no_suffix_and_blanks_at_its_ends_may_be_lost(tmp_path: Path) -> None:
    for name in ("take.wav", "kettle.wav", " rain.wav"):
        write(tmp_path / name, noise(5000), 32_000)
    folder = Folder(tmp_path)
    assert folder.find("take.3") is None and folder.find("take.flac") == tmp_path / "take.wav"
    assert folder.find(" kettle.wav") == tmp_path / "kettle.wav"
    assert folder.find("rain.wav") == tmp_path / " rain.wav"


class Recording(Folder):
    """A folder that notes what is read, and kills its process at one clip."""

    def __init__(self, folder: Path, fatal: str = ""):
        super().__init__(folder)
        self.asked: list[str] = []
        self._fatal = fatal

    @contextmanager
    def local(self, path: str, scratch: Path) -> Iterator[Path]:
        self.asked.append(path)
        with super().local(path, scratch) as file:
            yield file
        if path == self._fatal:  # its shard file is open
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_job_goes_on_to_the_same_bytes_whatever_the_threads(
    sounds: Sounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLIPS_A_GROUP", 1)
    folder, names = sounds
    fatal = Recording(folder, names[2]), names, tmp_path / "shards", "int16"
    process = get_context("fork").Process(target=convert, args=fatal)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and not (tmp_path / "shards").exists()
    again = Recording(folder)
    convert(again, names, tmp_path / "shards", "int16")
    assert again.asked == names[2:]
    convert(Folder(folder), names, tmp_path / "whole", "int16", threads=3)
    assert content(tmp_path / "shards") == content(tmp_path / "whole")


@both_kinds
def test_shards_that_are_short_or_gone_are_named(sounds: Sounds, tmp_path: Path, kind: str) -> None:
    convert(Folder(sounds[0]), sounds[1], tmp_path / "shards", kind)
    (shard,) = (tmp_path / "shards").glob(f"*{KINDS[kind]}")
    os.truncate(shard, 1000)
    with pytest.raises(InputError, match=f"{shard.name} has 1000 bytes"):
        ClipStore([tmp_path / "shards"])
    shard.unlink()
    with pytest.raises(InputError, match=shard.name):
        ClipStore([tmp_path / "shards"])

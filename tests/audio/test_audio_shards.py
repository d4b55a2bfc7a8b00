"""Clips converted into shards, and windows of them read back."""

import os
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from sound_files import noise, write

from triptych.audio.data import shards as module
from triptych.audio.data.audio_sources import Folder
from triptych.audio.data.decoding import read_audio
from triptych.audio.data.shard_files import KINDS, append_clip
from triptych.audio.data.shards import ClipStore, write_shards
from triptych.core.errors import InputError

STEP = 1 / 32768


def table(*paths: str) -> pd.DataFrame:
    return pd.DataFrame({"clip": [f"toy/train/{path}" for path in paths], "path": list(paths)})


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def sounds(tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder with clips of several formats, rates and lengths, and their names."""
    folder = tmp_path / "sounds"
    made = [
        ("one.wav", 44_100, 30_000),
        (" leading space.wav", 44_100, 50_000),
        ("two.flac", 32_000, 20_000),
        ("stereo.wav", 48_000, 30_000),
        ("three.ogg", 22_050, 40_000),
        ("four.mp3", 44_100, 40_000),
        ("deep/er.flac", 44_100, 20_000),
    ]
    for seed, (name, rate, frames) in enumerate(made):
        samples = noise(frames, seed)
        write(folder / name, np.stack([samples, samples], 1) if "stereo" in name else samples, rate)
    return folder, [name for name, _, _ in made]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def written(sounds: tuple[Path, list[str]], target: Path, kind: str, **settings: Any) -> ClipStore:
    write_shards(table(*sounds[1]), sounds[0], target, kind, **settings)
    return ClipStore([target])


def test_clips_come_back_within_half_a_step(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str
) -> None:
    store = written(sounds, tmp_path / "shards", kind)
    assert list(store) == [f"toy/train/{name}" for name in sounds[1]]
    for name in sounds[1]:
        expected, clip = read_audio(sounds[0] / name), store.read(f"toy/train/{name}")
        assert clip.dtype == np.float32
        assert store.frames(f"toy/train/{name}") == len(clip) == len(expected)
        assert np.abs(clip - expected).max() <= 0.5001 * STEP


def test_windows_are_parts_of_the_whole(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str
) -> None:
    store = written(sounds, tmp_path / "shards", kind)
    for clip in store:
        whole, frames = store.read(clip), store.frames(clip)
        for start, count in (
            (0, 1),
            (frames - 1, 1),
            (4097, 5000),
            (frames // 3, None),
            (50, 9),
            (7, 0),
        ):
            end = frames if count is None else start + count
            np.testing.assert_array_equal(store.read(clip, start, count), whole[start:end])


def test_sixteen_bits_at_32_khz_pass_unchanged(tmp_path: Path, kind: str) -> None:
    samples = np.random.default_rng(0).integers(-32768, 32768, 20_000).astype(np.int16)
    soundfile.write(tmp_path / "all.wav", samples, 32_000)
    write_shards(table("all.wav"), tmp_path, tmp_path / "shards", kind)
    read = ClipStore([tmp_path / "shards"]).read("toy/train/all.wav")
    np.testing.assert_array_equal(read * 32768, samples)


def test_mp3_at_32_khz_stays_as_it_is_and_is_read_by_windows(tmp_path: Path) -> None:
    """A decoder that begins in the middle is off by a step now and then, and never in time."""
    samples = noise(96_000)
    for name in ("a.mp3", "b.mp3"):
        soundfile.write(tmp_path / name, samples, 32_000, format="MP3", subtype="MPEG_LAYER_III")
    write_shards(table("a.mp3", "b.mp3"), tmp_path, tmp_path / "shards", "flac")
    stored = (tmp_path / "shards" / "00000-00.flacs").read_bytes()
    assert stored == (tmp_path / "a.mp3").read_bytes() + (tmp_path / "b.mp3").read_bytes()
    store = ClipStore([tmp_path / "shards"])
    whole, _ = soundfile.read(tmp_path / "b.mp3", dtype="float32")
    for start, frames in ((0, 96_000), (1, 500), (40_001, 32_000), (95_000, 1000)):
        window = store.read("toy/train/b.mp3", start, frames)
        assert np.abs(window - whole[start : start + frames]).max() <= 2 * STEP


def test_threads_and_groups_change_no_byte_but_the_files_names(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLIPS_A_GROUP", 2)
    for threads in (1, 3):
        written(sounds, tmp_path / str(threads), kind, threads=threads)
    assert content(tmp_path / "1") == content(tmp_path / "3")
    assert len(list((tmp_path / "1").glob(f"*{KINDS[kind]}"))) == 4


class Recording(Folder):
    """A folder that notes what is read, and dies at one clip."""

    def __init__(self, folder: Path, fatal: str = "", signal: type[BaseException] = OSError):
        super().__init__(folder)
        self.asked: list[str] = []
        self._fatal, self._signal = fatal, signal

    @contextmanager
    def local(self, path: str, scratch: Path) -> Iterator[Path]:
        self.asked.append(path)
        if path == self._fatal:
            raise self._signal
        with super().local(path, scratch) as file:
            yield file


def test_a_cut_job_goes_on_where_it_was_cut(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLIPS_A_GROUP", 2)
    folder, names = sounds
    cut = Recording(folder, names[5], KeyboardInterrupt)
    room = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        write_shards(table(*names), cut, tmp_path / "cut", kind, checkpoint=room)
    assert not (tmp_path / "cut").exists()
    again = Recording(folder)
    write_shards(table(*names), again, tmp_path / "cut", kind, checkpoint=room)
    assert names[5] in again.asked
    assert not set(names[:4]) & set(again.asked)
    written(sounds, tmp_path / "whole", kind)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def _killed(folder: Path, names: list[str], target: Path) -> None:
    module.CLIPS_A_GROUP = 1

    class Deadly(Recording):
        @contextmanager
        def local(self, path: str, scratch: Path) -> Iterator[Path]:
            with super().local(path, scratch) as file:
                yield file
            if path == names[2]:  # its shard file is open
                os.kill(os.getpid(), 9)

    write_shards(table(*names), Deadly(folder), target, "int16")


def test_a_killed_process_leaves_nothing_that_disturbs_the_next(
    sounds: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLIPS_A_GROUP", 1)
    process = get_context("fork").Process(target=_killed, args=(*sounds, tmp_path / "shards"))
    process.start()
    process.join()
    assert process.exitcode == -9
    assert not (tmp_path / "shards").exists()
    again = Recording(sounds[0])
    write_shards(table(*sounds[1]), again, tmp_path / "shards", "int16")
    assert again.asked == sounds[1][2:]
    shards = [name for name in content(tmp_path / "shards") if name.endswith(".bin")]
    assert len(shards) == len(sounds[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards", "sounds"]


def test_a_full_disk_is_an_error(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "a.wav", noise(30_000), 44_100)
    with open("/dev/full", "r+b", buffering=0) as full, pytest.raises(OSError, match="space"):
        append_clip(kind, path, full)


def test_long_clips_are_never_in_memory_whole(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "long.wav", np.tile(noise(44_100), 90), 44_100)  # 12 MB as float32
    tracemalloc.start()
    write_shards(table("long.wav"), tmp_path, tmp_path / "shards", kind)
    writing = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    store = ClipStore([tmp_path / "shards"])
    window = store.read("toy/train/long.wav", 89 * 32_000, 32_000)
    reading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(window) == 32_000
    assert writing < 5_000_000
    assert reading < 2_000_000


def _read(store: ClipStore, clip: str) -> np.ndarray:
    return store.read(clip, 100, 5_000)


@pytest.mark.parametrize(
    ("kind", "start", "processes"),
    [
        ("int16", "fork", 2),
        ("flac", "fork", 2),
        pytest.param("flac", "spawn", 1, marks=pytest.mark.slow),
    ],
)
def test_a_store_works_in_other_processes(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str, start: str, processes: int
) -> None:
    store = written(sounds, tmp_path / "shards", kind)
    with ProcessPoolExecutor(processes, mp_context=get_context(start)) as pool:
        for clip, read in zip(store, pool.map(_read, [store] * len(store), store), strict=True):
            np.testing.assert_array_equal(read, _read(store, clip))


def test_shards_that_are_short_or_gone_are_named(
    sounds: tuple[Path, list[str]], tmp_path: Path, kind: str
) -> None:
    written(sounds, tmp_path / "shards", kind)
    (shard,) = (tmp_path / "shards").glob(f"*{KINDS[kind]}")
    os.truncate(shard, 1000)
    with pytest.raises(InputError, match=f"{shard.name} has 1000 bytes"):
        ClipStore([tmp_path / "shards"])
    shard.unlink()
    with pytest.raises(InputError, match=shard.name):
        ClipStore([tmp_path / "shards"])
    with pytest.raises(InputError, match=r"no_such.*cannot be read"):
        ClipStore([tmp_path / "no_such"])


def test_a_damaged_stream_is_an_error_and_no_silence(
    sounds: tuple[Path, list[str]], tmp_path: Path
) -> None:
    store = written(sounds, tmp_path / "shards", "flac")
    (shard,) = (tmp_path / "shards").glob("*.flacs")
    data = bytearray(shard.read_bytes())
    data[:2000] = bytes(2000)
    shard.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        store.read(next(iter(store)))

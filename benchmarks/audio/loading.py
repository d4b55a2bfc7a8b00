"""Clips per second: batches from shards, and from files decoded when their turn comes."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import soundfile
from numpy.typing import NDArray

from benchmarks.audio import plain
from benchmarks.audio.worker import LONGEST_SECONDS, split_lengths
from triptych.audio.data.shards import ClipStore, write_shards
from triptych.audio.training.batches import Batches, Pair, load

BATCH = 8
FILES = {"wav": 44100, "flac": 32000, "mp3": 44100}
"""Formats and rates (Hz) of Clotho's files, of WavCaps' and of those that AudioCaps comes in."""
SHARDS = ("int16", "flac")


def clips_per_second(files: int, rounds: int) -> dict[str, list[float]]:
    """Of "wav files", ..., "int16 shards", ...: measured in turn, `rounds` times, by one process.

    The same made-up recordings of 15 to 30 s each time, in whole batches; everything lies in the
    file cache.
    """
    batch = min(BATCH, files)
    clips = files - files % batch
    measured: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        readers = _readers(Path(folder), files, batch)
        for _ in range(rounds):
            for name, read in readers.items():
                began = time.perf_counter()
                read()
                measured.setdefault(name, []).append(clips / (time.perf_counter() - began))
    return measured


def _readers(folder: Path, files: int, batch: int) -> dict[str, Callable[[], None]]:
    paths = {
        suffix: _write_files(folder / suffix, suffix, rate, files) for suffix, rate in FILES.items()
    }
    readers: dict[str, Callable[[], None]] = {
        f"{suffix} files": partial(_decode, chosen, batch) for suffix, chosen in paths.items()
    }
    clips = pd.DataFrame({"clip": paths["wav"], "path": [Path(path).name for path in paths["wav"]]})
    for kind in SHARDS:
        write_shards(clips, folder / "wav", folder / f"{kind}-shards", kind)
        readers[f"{kind} shards"] = partial(_load, ClipStore([folder / f"{kind}-shards"]), batch)
    return readers


def _decode(paths: list[str], batch: int) -> None:
    order = np.random.default_rng(0).permutation(len(paths)).tolist()
    whole = len(paths) - len(paths) % batch
    for _ in plain.decoded_batches(paths, batch, order[:whole]):
        pass


def _load(store: ClipStore, batch: int) -> None:
    pairs = [Pair(clip, 0, "") for clip in store]
    batches = Batches(pairs, store, batch, 0.0, LONGEST_SECONDS, seed=0)
    for _ in load(batches, range(batches.steps_per_epoch), workers=0, pin=False):
        pass


def _write_files(folder: Path, suffix: str, rate: int, files: int) -> list[str]:
    folder.mkdir()
    paths = []
    for number, frames in enumerate(split_lengths(files)):
        paths.append(str(folder / f"{number:03d}.{suffix}"))
        sound = _field_noise(round(frames * rate / 32000), number)
        soundfile.write(paths[-1], sound, rate)
    return paths


def _field_noise(frames: int, seed: int) -> NDArray[np.float32]:
    """Noise whose power falls with the square of frequency, as compressible as recordings are."""
    bins = frames // 2 + 1
    random = np.random.default_rng(seed)
    spectrum = random.standard_normal(bins) + 1j * random.standard_normal(bins)
    sound = np.fft.irfft(spectrum / (100 + np.arange(bins)), frames)
    return (0.5 * sound / np.abs(sound).max()).astype(np.float32)

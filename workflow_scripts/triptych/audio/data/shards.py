"""Clips on disk, in shard files with an index (`shard_writing.py`), read at random by training.

A clip lies there in one of two ways. `int16` holds little-endian samples, 64 kB a second; `flac` a
complete FLAC stream behind others, about half of that. A file that is such a stream already stays
as it is, and so does MP3 at 32 kHz.
"""

import io
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pandas as pd
import soundfile
from numpy.typing import NDArray

from triptych.audio.data.decoding import SAMPLE_RATE, AudioProblem, opened, stream_audio
from triptych.audio.data.sound_bytes import ByteRange
from triptych.core.errors import InputError

logger = logging.getLogger(__name__)

KINDS = {"int16": ".bin", "flac": ".flacs"}
"""Kind of shard, and the suffix of its files."""

STREAMS = {("flac", "s16"), ("mp3", "fltp")}
"""Format, and samples as FFmpeg decodes them, of what a flac shard takes as it is."""
FULL_SCALE = 32768.0
SAMPLE_BYTES = 2


def to_int16(samples: np.ndarray) -> np.ndarray:
    """Samples in [-1, 1] as the nearest of 65,536 steps; what lies beyond is clipped."""
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype("<i2")


def append_clip(kind: str, sound: str | os.PathLike[str], shard: BinaryIO, *window: float) -> int:
    """Write the clip of a sound file at the position of `shard`, block by block; its frames.

    window: start and length in seconds, for a part of the file.

    Floating-point samples beyond full scale are scaled to fit. Raises AudioProblem where the sound
    is not whole, after which `shard` holds a part of it.
    """
    if kind == "flac" and not window and _is_stored_form(sound):
        frames = sum(len(block) for block in stream_audio(sound))  # is it whole?
        with open(sound, "rb") as stream:
            shutil.copyfileobj(stream, shard, 1 << 20)
        return frames
    append, start = (_append_flac if kind == "flac" else _append_int16), shard.tell()
    frames, peak = append(stream_audio(sound, *window), shard)
    if peak > 1 and _is_floating(sound):
        logger.warning("%s: exceeds full scale, %.3g times; it is scaled to fit", sound, peak)
        shard.seek(start)
        shard.truncate()
        append((block / np.float32(peak) for block in stream_audio(sound, *window)), shard)
    return frames


def _is_stored_form(sound: str | os.PathLike[str]) -> bool:
    """Whether a file is already what a FLAC shard would hold (WavCaps comes like that), or MP3."""
    with opened(sound) as file:
        context = file.stream.codec_context
        mono = (context.channels, context.sample_rate) == (1, SAMPLE_RATE)
        return mono and (file.container.format.name, context.format.name) in STREAMS


def _is_floating(sound: str | os.PathLike[str]) -> bool:
    with opened(sound) as file:
        context = file.stream.codec_context
        return context.codec.lossless and context.format.name[:3] in ("flt", "dbl")


def _append_int16(blocks: Iterable[np.ndarray], shard: BinaryIO) -> tuple[int, float]:
    """Write raw samples; how many, and the largest."""
    frames, peak = 0, 0.0
    for block in blocks:
        shard.write(to_int16(block).tobytes())
        frames, peak = frames + len(block), max(peak, float(np.abs(block).max()))
    return frames, peak


def _append_flac(blocks: Iterable[np.ndarray], shard: BinaryIO) -> tuple[int, float]:
    """Write a FLAC stream; its samples' number, and the largest."""
    frames, peak = 0, 0.0
    # FLAC's header is completed when its length is known, so the encoder must be able to seek.
    with tempfile.TemporaryFile() as coded:
        with soundfile.SoundFile(
            coded, "w", SAMPLE_RATE, channels=1, subtype="PCM_16", format="FLAC"
        ) as sound:
            for block in blocks:
                sound.write(to_int16(block))
                frames, peak = frames + len(block), max(peak, float(np.abs(block).max()))
        coded.seek(0)
        shutil.copyfileobj(coded, shard, 1 << 20)
    return frames, peak


def write_sound(
    path: str | os.PathLike[str], samples: NDArray[np.generic], rate: int, kind: str
) -> None:
    """Write samples [n] or [n, channels] as 16 bits; kind: "WAV" or "FLAC". Raises OSError."""
    coded = io.BytesIO()
    settings: dict[str, Any] = {"format": kind, "subtype": "PCM_16"}
    soundfile.write(coded, samples, rate, **settings)
    Path(path).write_bytes(coded.getbuffer())


class Store(Protocol):
    """Recordings by name: waveforms, as in a `ClipStore`, or what a model makes of them."""

    def frames(self, clip: str) -> int:
        """Length of a clip in samples."""

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> np.ndarray:
        """float32 [frames], or fewer at the end of the clip; or [segments, ...]."""


class ClipStore:
    """Clips of one or several folders of shards, by name; windows of them without the rest.

    Holds the index and no open file: it may be pickled, and shared by threads and processes.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        """Raises InputError for a folder without index and a shard cut short."""
        table = pd.concat([_read_index(Path(folder)) for folder in folders], ignore_index=True)
        # Arrays rather than rows: half a million clips in each of many worker processes.
        self._rows = {clip: row for row, clip in enumerate(table["clip"])}
        self._shard, self._kind = (pd.Categorical(table[name]) for name in ("shard", "kind"))
        self._offset, self._bytes, self._frames = (
            table[name].to_numpy(np.int64) for name in ("offset", "bytes", "frames")
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def frames(self, clip: str) -> int:
        """Length at 32 kHz. Raises KeyError for a clip that isn't there."""
        return int(self._frames[self._rows[clip]])

    def read(self, clip: str, start: int = 0, frames: int | None = None) -> np.ndarray:
        """float32 [frames] in [-1, 1], mono at 32 kHz, from frame `start` on (None: to the end).

        Raises InputError where the shard is damaged.
        """
        row = self._rows[clip]
        shard, offset = str(self._shard[row]), int(self._offset[row])
        frames = int(self._frames[row]) - start if frames is None else frames
        # Opened and closed for each clip, which takes ten microseconds.
        if self._kind[row] == "int16":
            steps = np.fromfile(shard, "<i2", frames, offset=offset + SAMPLE_BYTES * start)
            samples = np.multiply(steps, np.float32(1 / FULL_SCALE), dtype=np.float32)
        else:
            with open(shard, "rb") as stream:
                part = ByteRange(stream, offset, int(self._bytes[row]))
                samples = _read_stream(part, start, frames)
        if len(samples) != frames:
            raise InputError(
                f"{shard}: {frames} samples expected from byte {offset} on (window from {start}), "
                f"found {len(samples)}: the file is damaged; delete its folder and run again"
            )
        return samples


def _read_stream(stream: ByteRange, start: int, frames: int) -> np.ndarray:
    try:
        window = list(stream_audio(stream, start / SAMPLE_RATE, frames / SAMPLE_RATE))
    except AudioProblem:
        return np.zeros(0, np.float32)
    return np.clip(np.concatenate(window), -1, 1) if window else np.zeros(0, np.float32)


def _read_index(folder: Path) -> pd.DataFrame:
    """The index with the shards' whole paths, checked against the files' sizes."""
    try:
        table = pd.read_csv(
            folder / "index.csv",
            dtype={"clip": str, "shard": str, "kind": str},
            keep_default_na=False,
        )
        ends = (table["offset"] + table["bytes"]).groupby(table["shard"]).max()
        sizes = {str(shard): (folder / str(shard)).stat().st_size for shard in ends.index}
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"{folder} cannot be read as audio shards ({error}); delete it and run again"
        ) from error
    for shard, end in ends.items():
        if sizes[str(shard)] != end:
            raise InputError(
                f"{folder / str(shard)} has {sizes[str(shard)]} bytes, but its index says "
                f"{end}; delete {folder} and run again"
            )
    table["shard"] = str(folder) + os.sep + table["shard"]
    return table

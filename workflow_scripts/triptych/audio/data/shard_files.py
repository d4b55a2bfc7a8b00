"""The two ways in which a clip lies in a shard file: raw samples, and a FLAC stream.

`int16` holds little-endian samples, 64 kB a second; `flac` a complete FLAC stream behind others,
about half of that. A file that is such a stream already stays as it is, and so does MP3 at 32 kHz.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from triptych.audio.data.decoding import SAMPLE_RATE, opened, stream_audio
from triptych.core.errors import InputError

KINDS = {"int16": ".bin", "flac": ".flacs"}
"""Kind of shard, and the suffix of its files."""

STREAMS = {("FLAC", "PCM_16"), ("MP3", "MPEG_LAYER_III")}
"""Format and subtype of what a flac shard takes as it is."""
FULL_SCALE = 32768.0
SAMPLE_BYTES = 2


def to_int16(samples: np.ndarray) -> np.ndarray:
    """Samples in [-1, 1] as the nearest of 65,536 steps; what lies beyond is clipped."""
    return np.clip(np.rint(samples * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype("<i2")


def append_clip(kind: str, sound: str | os.PathLike[str], shard: BinaryIO) -> int:
    """Write the clip of a sound file at the position of `shard`, block by block; its frames.

    Raises AudioProblem where the sound is not whole, after which `shard` holds a part of it.
    """
    if kind == "int16":
        frames = 0
        for block in stream_audio(sound):
            shard.write(to_int16(block).tobytes())
            frames += len(block)
        return frames
    if _is_stored_form(sound):
        frames = sum(len(block) for block in stream_audio(sound))  # is it whole?
        with open(sound, "rb") as stream:
            shutil.copyfileobj(stream, shard, 1 << 20)
        return frames
    return _append_flac(stream_audio(sound), shard)


def _is_stored_form(sound: str | os.PathLike[str]) -> bool:
    """Whether a file is already what a FLAC shard would hold (WavCaps comes like that), or MP3."""
    with opened(sound) as file:
        mono = (file.channels, file.samplerate) == (1, SAMPLE_RATE)
        return mono and (file.format, file.subtype) in STREAMS


def _append_flac(blocks: Iterable[np.ndarray], shard: BinaryIO) -> int:
    frames = 0
    # FLAC's header is completed when its length is known, so the encoder must be able to seek.
    with tempfile.TemporaryFile() as coded:
        with soundfile.SoundFile(
            coded, "w", SAMPLE_RATE, channels=1, subtype="PCM_16", format="FLAC"
        ) as sound:
            for block in blocks:
                sound.write(to_int16(block))
                frames += len(block)
        coded.seek(0)
        shutil.copyfileobj(coded, shard, 1 << 20)
    return frames


def read_clip(
    kind: str, shard: Path, offset: int, size: int, start: int, frames: int
) -> np.ndarray:
    """float32 [frames] in [-1, 1] from frame `start` of the clip at `offset` (`size` bytes).

    Opens and closes the file, which takes ten microseconds. Raises InputError when it is damaged.
    """
    if kind == "int16":
        samples = np.fromfile(shard, "<i2", frames, offset=offset + SAMPLE_BYTES * start)
    else:
        with open(shard, "rb") as stream:
            samples = _read_flac(ReadView(stream, offset, size), start, frames)
    if len(samples) != frames:
        raise InputError(
            f"{shard}: {frames} samples expected from byte {offset} on (window from {start}), "
            f"found {len(samples)}: the file is damaged; delete its folder and run again"
        )
    return np.multiply(samples, np.float32(1 / FULL_SCALE), dtype=np.float32)


def _read_flac(view: "ReadView", start: int, frames: int) -> np.ndarray:
    try:
        with soundfile.SoundFile(view) as sound:
            sound.seek(start)
            return sound.read(frames, dtype="int16")
    except soundfile.LibsndfileError:
        return np.zeros(0, np.int16)


class ReadView:
    """`size` bytes of a file from `offset` on, as a file of their own."""

    def __init__(self, stream: BinaryIO, offset: int, size: int) -> None:
        self._stream, self._offset, self._size = stream, offset, size
        self._position = 0
        stream.seek(offset)

    def read(self, count: int = -1) -> bytes:
        """At most `count` bytes, all that are left for -1."""
        remaining = max(0, self._size - self._position)
        data = self._stream.read(remaining if count < 0 else min(count, remaining))
        self._position += len(data)
        return data

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer as far as there is something left; the count of bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, target: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte of the view, as `io.IOBase.seek` does; never before its start."""
        base = (0, self._position, self._size)[whence]
        self._position = max(0, base + target)
        self._stream.seek(self._offset + self._position)
        return self._position

    def tell(self) -> int:
        """Bytes from the start of the view."""
        return self._position


def write_sound(
    path: str | os.PathLike[str], samples: NDArray[np.generic], rate: int, kind: str
) -> None:
    """Write samples [n] or [n, channels] as 16 bits; kind: "WAV" or "FLAC". Raises OSError."""
    coded = io.BytesIO()
    settings: dict[str, Any] = {"format": kind, "subtype": "PCM_16"}
    soundfile.write(coded, samples, rate, **settings)
    Path(path).write_bytes(coded.getbuffer())

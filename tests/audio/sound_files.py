"""Sound files for the tests: tones whose samples are known, and files with something wrong."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

HERTZ = 440.0
FORMATS = {"wav": "PCM_16", "flac": "PCM_16", "mp3": "MPEG_LAYER_III", "ogg": "VORBIS"}


def tone(seconds: float, rate: int, amplitude: float = 0.5, hertz: float = HERTZ) -> np.ndarray:
    """float64 [frames]: a sine that begins at zero."""
    times = np.arange(round(seconds * rate)) / rate
    return amplitude * np.sin(2 * np.pi * hertz * times)


def noise(frames: int, seed: int = 0) -> np.ndarray:
    """float64 [frames] in about [-0.5, 0.5]."""
    return np.clip(0.15 * np.random.default_rng(seed).standard_normal(frames), -0.99, 0.99)


def write(path: Path, samples: np.ndarray, rate: int, subtype: str | None = None) -> Path:
    """Write float samples [frames] or [frames, channels] in the format of the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, subtype=subtype or FORMATS[path.suffix[1:]])
    return path


def cut(path: Path, share: float = 0.6) -> Path:
    """Keep only the first bytes of a file."""
    os.truncate(path, int(share * path.stat().st_size))
    return path


def without_length(path: Path) -> Path:
    """Put what programs that write into a pipe put in place of the length (WAV or FLAC)."""
    data = bytearray(path.read_bytes())
    if path.suffix == ".wav":
        at = data.index(b"data") + 4
        data[4:8] = data[at : at + 4] = b"\xff\xff\xff\xff"
    else:
        data[21] &= 0xF0  # the last 36 bits of STREAMINFO's second half: how many samples
        data[22:26] = bytes(4)
    path.write_bytes(data)
    return path


def header_only(path: Path) -> Path:
    """A FLAC file that is well-formed and holds no samples, like six of WavCaps'."""
    write(path, noise(5000), 32_000)
    without_length(path)
    data = path.read_bytes()
    at, last = 4, False
    while not last:
        last, length = bool(data[at] & 0x80), int.from_bytes(data[at + 1 : at + 4], "big")
        at += 4 + length
    path.write_bytes(data[:at])
    return path


def _text(path: Path) -> Path:
    path.write_text("<html>404 not found</html>\n" * 50)
    return path


def _not_numbers(path: Path) -> Path:
    samples = noise(5000)
    samples[777] = np.nan
    return write(path, samples, 32_000, "FLOAT")


def _nothing(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def _long(path: Path) -> Path:
    return write(path, noise(200_000), 44_100)


DAMAGED: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "absent.wav": ("no such file", lambda path: path),
    "empty.flac": ("empty file", _nothing),
    "empty_folder.wav": ("folder", lambda path: path.mkdir() or path),
    "header_only.flac": ("no samples", header_only),
    "no_samples.wav": ("no samples", lambda path: write(path, noise(0), 32_000)),
    "page.mp3": ("not sound", _text),
    "nan.wav": ("not numbers", _not_numbers),
    "short.wav": ("truncated", lambda path: cut(_long(path))),
    "short.flac": ("truncated", lambda path: cut(_long(path))),
    "short.mp3": ("truncated", lambda path: cut(_long(path))),
}
"""Name, what the message has to say, and how to make it."""


def damaged(folder: Path, name: str) -> Path:
    return DAMAGED[name][1](folder / name)

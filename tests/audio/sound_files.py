"""Sound files for the tests: tones whose samples are known, and files with something wrong."""

from pathlib import Path

import numpy as np
import soundfile

from triptych.audio.data.decoding import stream_audio

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


def read_audio(path: Path, *window: float) -> np.ndarray:
    """float32 [frames], mono at 32 kHz: a file, or so many seconds of it from one second on."""
    return np.concatenate(list(stream_audio(path, *window)))


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

"""Sound files for the tests: tones whose samples are known, and files with something wrong."""

import struct
from collections.abc import Iterable
from pathlib import Path

import av
import numpy as np
import soundfile

from triptych.audio.data.decoding import stream_audio

HERTZ = 440.0
FORMATS = {"wav": "PCM_16", "flac": "PCM_16", "mp3": "MPEG_LAYER_III", "ogg": "VORBIS"}


def tone(seconds: float, rate: int, amplitude: float = 0.5, hertz: float = HERTZ) -> np.ndarray:
    """float64 [frames]: a sine that begins at zero."""
    times = np.arange(round(seconds * rate)) / rate
    return amplitude * np.sin(2 * np.pi * hertz * times)


def rising(begin: float, end: float, rate: int) -> np.ndarray:
    """float64 [frames] of a sine that rises by 50 Hz a second, so that pitch tells time."""
    times = np.arange(round(begin * rate), round(end * rate)) / rate
    return 0.5 * np.sin(2 * np.pi * (500 * times + 25 * times**2))


def times_heard(sound: np.ndarray, starts: Iterable[float]) -> list[float | None]:
    """For each start in seconds, which time of `rising` is heard there; None for silence."""
    found: list[float | None] = []
    for start in starts:
        part = sound[round(start * 32_000) :][:8000]
        power = np.abs(np.fft.rfft(part * np.hanning(len(part)), 64_000))
        pitch = power.argmax() / 2
        quiet = len(part) < 8000 or part.std() < 0.05
        found.append(None if quiet else (pitch - 500) / 50 - 0.125)
    return found


def noise(frames: int, seed: int = 0) -> np.ndarray:
    """float64 [frames] in about [-0.5, 0.5]."""
    return np.clip(0.15 * np.random.default_rng(seed).standard_normal(frames), -0.99, 0.99)


def write(path: Path, samples: np.ndarray, rate: int, subtype: str | None = None) -> Path:
    """Write float samples [frames] or [frames, channels] in the format of the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, subtype=subtype or FORMATS[path.suffix[1:]])
    return path


def encode(
    path: Path,
    samples: np.ndarray,
    rate: int,
    codec: str,
    form: str | None = None,
    *,
    bit_rate: int = 128_000,
    gap: tuple[float, float] = (0.0, 0.0),
    picture: bool = False,
    **options: str,
) -> Path:
    """Encode samples [frames] by PyAV; gap: from a second on, times are so many seconds later;
    picture: one black frame at the start, as a film's."""
    with av.open(str(path), "w", format=form, options=options) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = bit_rate
        if picture:
            film = container.add_stream("libx264", rate=5)
            film.width, film.height, film.pix_fmt = 32, 32, "yuv420p"
            black = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
            container.mux([*film.encode(black), *film.encode(None)])
        if not len(samples):
            return path
        frame = av.AudioFrame.from_ndarray(samples[None].astype(np.float32), "fltp", "mono")
        frame.rate, frame.pts = rate, 0
        for packet in (*stream.encode(frame), *stream.encode(None)):
            if packet.pts * packet.time_base >= gap[0]:
                packet.pts += round(gap[1] / packet.time_base)
                packet.dts += round(gap[1] / packet.time_base)
            container.mux(packet)
    return path


def joined(path: Path, *parts: Path | bytes) -> Path:
    """Write files one behind the other."""
    path.write_bytes(b"".join(p if isinstance(p, bytes) else p.read_bytes() for p in parts))
    return path


def damaged(path: Path, share: float, count: int) -> Path:
    """Overwrite `count` bytes from a share of a file on with noise."""
    data = bytearray(path.read_bytes())
    first = round(share * len(data))
    data[first : first + count] = np.random.default_rng(0).bytes(count)
    path.write_bytes(data)
    return path


def stating(path: Path, count: int) -> Path:
    """Have a WAV's header state `count` bytes of sound."""
    data = bytearray(path.read_bytes())
    first = data.index(b"data") + 4
    data[first : first + 4] = struct.pack("<I", count)
    path.write_bytes(data)
    return path


def read_audio(path: Path, *window: float) -> np.ndarray:
    """float32 [frames], mono at 32 kHz: a file, or so many seconds of it from one second on."""
    return np.concatenate(list(stream_audio(path, *window)))


def without_length(path: Path) -> Path:
    """Have a FLAC's header not tell how many samples follow."""
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the last 36 bits of STREAMINFO's second half
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

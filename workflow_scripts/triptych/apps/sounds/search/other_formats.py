"""People's own sound files: what libsndfile reads, and by PyAV what it doesn't, AAC or videos."""

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from triptych.audio.data.decoding import (
    HIGHEST_RATE,
    LOWEST_RATE,
    SAMPLE_RATE,
    AudioProblem,
    resampled,
    stream_audio,
    why_unreadable,
)
from triptych.core.files import not_a_file

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

READ = (
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc", ".au", ".caf"),
    *(".w64", ".rf64", ".mp2"),
)
"""What libsndfile decodes."""
SUFFIXES = (
    *(".m4a", ".m4b", ".aac", ".ac3", ".amr", ".ape", ".mka", ".wma", ".wv", ".3gp", ".avi"),
    *(".flv", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".webm", ".wmv"),
)
"""What PyAV decodes beyond that."""

OPTIONS = {
    # A playlist under such a name would have FFmpeg open what it lists, over the network too.
    "protocol_whitelist": "file",
    "format_whitelist": "aac,ac3,amr,ape,asf,avi,flac,flv,matroska,mov,mp3,mpeg,mpegts,ogg,wav,wv",
}
WITHOUT_TIMES = ("aac", "ac3", "amr")
"""Bare streams: how long they are, and where a second of them lies, can only be guessed at."""


def stream_any(
    path: str | os.PathLike[str], start_seconds: float = 0.0, seconds: float | None = None
) -> Iterator[np.ndarray]:
    """A file, or `seconds` of it from `start_seconds` on, mono at 32 kHz, block by block.

    Each block is float32 [n], n > 0. Raises AudioProblem.
    """
    other = os.path.splitext(path)[1].lower() in SUFFIXES
    return (stream_other if other else stream_audio)(path, start_seconds, seconds)


def readable(blocks: Iterator[np.ndarray], said: list[str]) -> Iterator[np.ndarray]:
    """Blocks of a sound up to where it is damaged, of which `said` then tells."""
    try:
        yield from blocks
    except AudioProblem as problem:
        said.append(str(problem))


def stream_other(
    path: str | os.PathLike[str], start_seconds: float = 0.0, seconds: float | None = None
) -> Iterator[np.ndarray]:
    """A file's first sound, decoded by PyAV, as `stream_any` gives it; a window is where the file's
    own times say, to about a frame of its codec."""
    import av
    import av.error

    if odd := not_a_file(path):
        raise AudioProblem(f"{path}: {odd}")
    read, remaining = 0.0, math.inf if seconds is None else round(seconds * SAMPLE_RATE)
    try:
        with av.open(str(path), metadata_errors="replace", options=OPTIONS) as container:
            if not container.streams.audio:
                raise AudioProblem(f"{path}: holds no sound")
            stream = container.streams.audio[0]
            rate = stream.codec_context.sample_rate
            if not LOWEST_RATE <= rate <= HIGHEST_RATE:
                raise AudioProblem(f"{path}: {rate} samples a second cannot be used")
            frames = _mono_blocks(container, stream, rate, start_seconds)
            for whole in resampled(frames, rate):
                block = whole[: int(min(remaining, len(whole)))]
                if not np.isfinite(block).all():
                    raise AudioProblem(f"{path}: holds samples that are not numbers")
                read, remaining = read + len(block) / SAMPLE_RATE, remaining - len(block)
                if len(block):
                    yield block
                if remaining <= 0:
                    break
    except (av.error.FFmpegError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = f"damaged after {read:.1f} s ({reason})" if read else why_unreadable(path, reason)
        raise AudioProblem(f"{path}: {problem}") from None


def _mono_blocks(
    container: "InputContainer", stream: "AudioStream", rate: int, start_seconds: float
) -> Iterator[np.ndarray]:
    """float32 [n] at the stream's own rate from a time on: the mean of its channels."""
    import av

    as_floats = av.AudioResampler(format="fltp", rate=rate)
    begins = float((stream.start_time or 0) * stream.time_base) if stream.time_base else 0.0
    sought = start_seconds > 1 and container.format.name not in WITHOUT_TIMES
    if sought:  # a second early: a codec's first frames behind a jump may be wrong
        container.seek(round((begins + start_seconds - 1) * 1e6))
    skipped = None if sought else round(start_seconds * rate)
    for frame in container.decode(stream):
        if skipped is None:
            at = begins if frame.time is None else frame.time
            skipped = max(0, round((begins + start_seconds - at) * rate))
        for block_part in as_floats.resample(frame):
            mono = block_part.to_ndarray().mean(axis=0, dtype=np.float32)
            if skipped < len(mono):
                yield mono[skipped:]
            skipped = max(0, skipped - len(mono))

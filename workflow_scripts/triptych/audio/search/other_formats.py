"""Sound that libsndfile does not decode, such as AAC, and the sound of videos: by PyAV.

For people's own folders only: the corpora of the study come in formats that libsndfile reads.
"""

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
)

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

SUFFIXES = (
    *(".m4a", ".m4b", ".aac", ".ac3", ".amr", ".ape", ".tta", ".wma", ".wv", ".mka"),
    *(".3gp", ".mkv", ".mov", ".mp4", ".webm"),
)

OPTIONS = {
    # A playlist under such a name would have FFmpeg open what it lists, over the network too.
    "protocol_whitelist": "file",
    "format_whitelist": "aac,ac3,eac3,amr,ape,asf,flac,matroska,mov,mp3,ogg,tta,wav,wv",
}


def stream_other(path: str | os.PathLike[str]) -> Iterator[np.ndarray]:
    """A file's first sound, mono at 32 kHz, block by block: float32 [n]. Raises AudioProblem."""
    import av
    import av.error

    if os.path.exists(path) and os.path.getsize(path) == 0:
        raise AudioProblem(f"{path}: an empty file (0 bytes)")
    seconds, told = 0.0, None
    try:
        with av.open(str(path), metadata_errors="replace", options=OPTIONS) as container:
            if not container.streams.audio:
                raise AudioProblem(f"{path}: holds no sound")
            stream = container.streams.audio[0]
            told, rate = _told_seconds(container, stream), stream.codec_context.sample_rate
            if not LOWEST_RATE <= rate <= HIGHEST_RATE:
                raise AudioProblem(f"{path}: {rate} samples a second cannot be used")
            for block in resampled(_mono_blocks(container, stream, rate), rate):
                if not np.isfinite(block).all():
                    raise AudioProblem(f"{path}: holds samples that are not numbers")
                seconds += len(block) / SAMPLE_RATE
                if len(block):
                    yield block
    except (av.error.FFmpegError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = f"damaged after {seconds:.1f} s" if seconds else "not sound that can be read"
        raise AudioProblem(f"{path}: {where} ({reason})") from None
    if told is not None and seconds < 0.95 * told - 1:
        raise AudioProblem(
            f"{path}: truncated, {seconds:.1f} s of {told:.1f} s are there; fetch it again"
        )


def _mono_blocks(
    container: "InputContainer", stream: "AudioStream", rate: int
) -> Iterator[np.ndarray]:
    """float32 [n] at the stream's own rate: the mean of its channels."""
    import av

    as_floats = av.AudioResampler(format="fltp", rate=rate)
    for frame in container.decode(stream):
        for each in as_floats.resample(frame):
            yield each.to_ndarray().mean(axis=0, dtype=np.float32)


def _told_seconds(container: "InputContainer", stream: "AudioStream") -> float | None:
    """How long the file says its sound is; bare streams, such as .aac, can only be guessed at."""
    if container.format.name in ("aac", "ac3", "amr"):
        return None
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    if container.streams.video or container.duration is None:  # a picture may last longer
        return None
    return container.duration / 1e6

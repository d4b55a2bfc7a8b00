"""Any sound file (wav, flac, mp3, ogg; any rate and channel count) as mono at 32 kHz.

Files are read and resampled in blocks, and a window is found by seeking: a recording of hours costs
no more memory than a short one.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import soundfile
import soxr

from triptych.core.errors import InputError
from triptych.core.files import not_a_file

SAMPLE_RATE = 32_000
"""Hz of everything behind the decoder: the rate at which PaSST was trained."""

BLOCK_FRAMES = 1 << 14
"""Half a second at most rates: what a damaged file loses of what precedes the damage."""
WARM_UP_SECONDS = 0.25
"""How much of what precedes a window the resampler sees: many times the length of its filter."""
LOWEST_RATE, HIGHEST_RATE = 1_000, 1_000_000
"""Hz of files that are read. Beyond, a header is damaged, or some bytes stand for hours."""
UNKNOWN_BYTES = (0x7FFFF000, 0x80000000, 0xFFFFFFFF)
"""What programs that write a WAV into a pipe put in place of its length, or a little less."""
UNKNOWN_FRAMES = 1 << 40  # libsndfile tells at least this where a FLAC's header tells none


class _Forwards(soundfile.SoundFile):
    """A file that isn't sought in behind each block that is read, as soundfile does with others:
    after that libsndfile 1.2.2 gives some 3,000 wrong samples of an MP3."""

    def seekable(self) -> bool:
        return False


class AudioProblem(InputError):
    """A sound file that cannot be used; the message says which and why."""


def stream_audio(
    path: str | os.PathLike[str], start_seconds: float = 0.0, seconds: float | None = None
) -> Iterator[np.ndarray]:
    """Mono samples at 32 kHz of a file, or of `seconds` of it from `start_seconds` on.

    Block by block, each float32 [n], n > 0, for files larger than memory. Raises AudioProblem.
    """
    first = round(start_seconds * SAMPLE_RATE)
    remaining = math.inf if seconds is None else round(seconds * SAMPLE_RATE)
    with opened(path) as sound:
        # Input frames whose times are those of output frames: one in `step_in`, one in `step_out`.
        divisor = math.gcd(sound.samplerate, SAMPLE_RATE)
        step_in, step_out = sound.samplerate // divisor, SAMPLE_RATE // divisor
        warm_up = 0 if divisor == SAMPLE_RATE == sound.samplerate else WARM_UP_SECONDS
        steps = max(0, (first - round(warm_up * SAMPLE_RATE)) // step_out)
        skipped = first - steps * step_out
        for block in resampled(_mono_blocks(path, sound, steps * step_in), sound.samplerate):
            window = block[skipped : skipped + int(min(remaining, len(block)))]
            skipped = max(0, skipped - len(block))
            if len(window):
                remaining -= len(window)
                yield window
            if remaining <= 0:
                return


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[soundfile.SoundFile]:
    """The file as libsndfile sees it. Raises AudioProblem for one that holds no sound."""
    if odd := not_a_file(path):
        raise AudioProblem(f"{path}: {odd}")
    try:
        sound = _Forwards(path)
    except soundfile.LibsndfileError as error:
        reason = str(error.error_string).strip().rstrip(".")
        if "not exist" in reason:  # of any file that is no MP3 by its content
            reason = "Format not recognised"
        raise AudioProblem(f"{path}: {why_unreadable(path, reason)}") from None
    with sound:
        if sound.frames == 0 or sound.frames >= UNKNOWN_FRAMES:
            # Such a FLAC may hold sound (written into a pipe), but libsndfile cannot read it.
            more = " or doesn't say how many: encode it again" if sound.frames else ""
            raise AudioProblem(f"{path}: holds no samples{more}")
        if not LOWEST_RATE <= sound.samplerate <= HIGHEST_RATE:
            raise AudioProblem(
                f"{path}: {sound.samplerate} samples a second; expected {LOWEST_RATE} to "
                f"{HIGHEST_RATE}"
            )
        yield sound


def why_unreadable(path: str | os.PathLike[str], reason: str) -> str:
    """The error for a file that no decoder takes; `reason` is the decoder's."""
    if not os.path.exists(path):
        return "there is no such file"
    if os.path.isdir(path):
        return "a folder, where a sound file is expected"
    if os.path.getsize(path) == 0:
        return "an empty file (0 bytes)"
    with open(path, "rb") as stream:
        start = stream.read(40)
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return f"not sound that can be read but a text, which begins {start.decode()!r}"
    return f"not sound that can be read: {reason}"


def _told_bytes(sound: soundfile.SoundFile) -> tuple[int, int] | None:
    """(bytes of sound in a WAV's header, bytes in the file) if they are too few."""
    sizes = re.search(r"^data : (\d+) \(should be (\d+)\)", sound.extra_info, re.MULTILINE)
    if sizes is None:
        return None
    bytes_stated, bytes_present = int(sizes[1]), int(sizes[2])
    piped = any(0 <= mark - bytes_stated < 64 for mark in UNKNOWN_BYTES)
    return (bytes_stated, bytes_present) if 0 < bytes_present < bytes_stated and not piped else None


def _mono_blocks(
    path: str | os.PathLike[str], sound: soundfile.SoundFile, first: int
) -> Iterator[np.ndarray]:
    """float32 [n] at the file's own rate: the mean of its channels from frame `first` on."""
    position = min(first, sound.frames)
    while position < sound.frames:
        try:
            if sound.tell() != position:
                sound.seek(position)
            block = sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            reason = str(error.error_string).strip() or "its frames are damaged"
            raise AudioProblem(
                f"{path}: truncated or damaged after "
                f"{position / sound.samplerate:.1f} s ({reason}); fetch it again"
            ) from None
        if len(block) == 0:
            break
        if not np.isfinite(block).all():
            raise AudioProblem(f"{path}: holds samples that are not numbers")
        position += len(block)
        yield block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)
    if position < sound.frames:
        raise AudioProblem(
            f"{path}: truncated, {position / sound.samplerate:.1f} s of "
            f"{sound.frames / sound.samplerate:.1f} s are there; fetch it again"
        )
    if sizes := _told_bytes(sound):
        raise AudioProblem(
            f"{path}: truncated, {sizes[1]} bytes of sound are left of {sizes[0]}; fetch it again"
        )


def resampled(blocks: Iterator[np.ndarray], rate: int) -> Iterator[np.ndarray]:
    """Mono blocks at `rate` Hz as blocks at 32 kHz, their joints inaudible and exact."""
    if rate == SAMPLE_RATE:
        yield from blocks
        return
    resampler = soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")
    for block in blocks:
        yield resampler.resample_chunk(np.ascontiguousarray(block))
    yield resampler.resample_chunk(np.zeros(0, np.float32), last=True)

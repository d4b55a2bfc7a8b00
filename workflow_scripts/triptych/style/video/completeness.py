"""What a film promises and what could be read of it."""

from collections.abc import Sequence
from fractions import Fraction

import av
import numpy as np
from av.container import InputContainer

from triptych.style.video.info import VideoInfo
from triptych.style.video.packets import open_video, picture_streams

STATING = {"matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "asf", "flv"}
"""Formats, by FFmpeg's names, whose header states a duration; of others FFmpeg estimates it."""

TOLERANCE = 4
"""Intervals between frames that a film may be shorter than its header states."""


def missing_part(info: VideoInfo, decoded: Sequence[int]) -> str:
    """A sentence on what a film promises and could not be read; empty for a whole film.

    decoded: numbers in `info.starts` of the frames that could be read, rising
    """
    with open_video(info.path) as container:
        stream = picture_streams(container)[0]
        rate = stream.average_rate or info.fps  # a cut film's own times may have gaps
        promised = Fraction(0) if stream.frames else _promised(container)
    ends = info.origin + info.start(decoded[-1] + 1) * info.time_base
    tolerance = max(TOLERANCE / info.fps, 2 * _longest(info.starts) * info.time_base)
    if promised - ends > tolerance and promised - _end_of_all(info, ends) > tolerance:
        return (
            f"{info.path} promises {float(promised):.1f} s, but only {float(ends):.1f} s could be "
            f"read; the rest ({float(promised - ends):.1f} s) is missing in the result"
        )
    expected = max(info.frames_stated, info.frames)
    if (lost := expected - len(decoded)) > 0:
        return (
            f"{info.path} promises {expected} frames, but only {len(decoded)} could be read; the "
            f"others ({float(lost / rate):.1f} s) are missing in the result"
        )
    if info.broken:
        return f"{info.path} could not be read to its end ({info.broken})"
    return ""


def _promised(container: InputContainer) -> Fraction:
    """Second at which the film ends by its header; 0 where it states none."""
    if container.format.name not in STATING or not container.duration:
        return Fraction(0)
    return Fraction(container.duration, av.time_base)


def _longest(starts: Sequence[int]) -> int:
    """Ticks of the longest interval between frames."""
    return int(np.diff(starts).max(initial=0))


def _end_of_all(info: VideoInfo, pictures: Fraction) -> Fraction:
    """Second at which the last packet of any stream ends, subtitles included."""
    last = pictures
    with open_video(info.path) as container:
        try:
            for packet in container.demux():
                if packet.pts is not None and packet.time_base is not None:
                    last = max(last, (packet.pts + (packet.duration or 0)) * packet.time_base)
        except Exception:  # a damaged file may raise anything; `probe` has told it
            return last
    return last

"""What a video file holds: rate, size, sound, and when each frame is shown.

Frame times are listed from the file's packets by PyAV, without decoding anything.
"""

import logging
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from triptych.core.errors import InputError
from triptych.core.files import not_a_file

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.stream import VideoStream

logger = logging.getLogger(__name__)

FINEST_TICK = 10_000
"""Ticks a second, at least, in which the times of an even video are written."""

LARGEST_DENOMINATOR = 100_000
"""Of a mean rate, since containers keep both parts in 32 bits."""


@dataclass(frozen=True)
class SoundInfo:
    """One audio stream; `seconds` is how long its packets last."""

    codec: str
    channels: int
    seconds: float


@dataclass(frozen=True)
class FrameTimes:
    """When frames are shown: frame k from `starts[k]` ticks of `time_base` seconds.

    `end` is when the last one goes. Frames past the last (a reader that finds more than the
    file lists) follow at `interval`.
    """

    time_base: Fraction
    starts: tuple[int, ...]
    end: int
    interval: int

    def start(self, frame: int) -> int:
        """Ticks at which a frame appears; also for the one after the last, which is the end."""
        if frame < len(self.starts):
            return self.starts[frame]
        return self.end + (frame - len(self.starts)) * self.interval


@dataclass(frozen=True)
class VideoInfo:
    """A video as a viewer sees it.

    `frames` is the number of pictures whose data is in the file, `frames_stated` what its header
    promises (the same where the header is silent): fewer frames than stated means a truncated
    file. `fps` is the nominal rate of an even video, and the mean rate of one with variable frame
    times. `width` and `height` are pixels of the upright picture, as the reader turns it.
    `origin` is the second from which OpenCV counts.
    """

    path: Path
    fps: Fraction
    frames: int
    frames_stated: int
    width: int
    height: int
    pixel_aspect: Fraction
    variable: bool
    origin: Fraction
    times: FrameTimes
    sounds: tuple[SoundInfo, ...]

    @property
    def duration(self) -> Fraction:
        """Seconds from the first frame's appearance to the end of the last."""
        return (self.times.end - self.times.starts[0]) * self.times.time_base


def probe(path: str | Path) -> VideoInfo:
    """What a video holds. The whole file is read, but no frame is decoded except the first.

    Raises InputError for a file that isn't there, isn't a video, or has no frame that can be read.
    """
    import av
    import av.error

    path = Path(path)
    if odd := not_a_file(path):
        raise InputError(f"{path} is {odd}")
    if not path.is_file():
        raise InputError(f"{path}: no such file; a video file is expected")
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            if not container.streams.video:
                raise InputError(f"{path} holds no picture stream; a video file is expected")
            stream = container.streams.video[0]
            shown, skipped, sounds = _listed(container)
            counted = max(0, stream.frames - skipped)
            stated_seconds = _stated_seconds(stream)
            rates = [rate for rate in (stream.average_rate, stream.base_rate) if rate]
            time_base = stream.time_base
            origin = (stream.start_time or 0) * (time_base or Fraction(0))
            pixel_aspect = stream.sample_aspect_ratio or Fraction(1)
    except av.error.FFmpegError as error:
        raise InputError(
            f"{path} cannot be read as a video ({error.strerror}); FFmpeg opens mp4, mov, mkv, "
            "webm, avi and others: is the file complete?"
        ) from error
    height, width = _picture(path)
    if not shown or time_base is None:
        raise unreadable(path, counted)
    starts = tuple(sorted(shown))
    fps, variable = _rate(starts, time_base, rates)
    # Only mp4 and its kin count their frames; elsewhere length and rate tell, roughly.
    stated = counted or round(stated_seconds * fps)
    if not counted and abs(stated - len(starts)) <= 1 + len(starts) / 50:
        stated = len(starts)
    return VideoInfo(
        path=path,
        fps=fps,
        frames=len(starts),
        frames_stated=stated or len(starts),
        width=width,
        height=height,
        pixel_aspect=pixel_aspect,
        variable=variable,
        origin=origin,
        times=_times(starts, time_base, shown[starts[-1]], fps, variable),
        sounds=sounds,
    )


def audio_streams(container: "InputContainer") -> list["AudioStream"]:
    """The audio streams whose codec FFmpeg knows."""
    return [stream for stream in container.streams.audio if stream.codec_context is not None]


def _listed(container: "InputContainer") -> tuple[dict[int, int], int, tuple[SoundInfo, ...]]:
    """From the packets: the shown pictures' times and durations in ticks, pictures that an edit
    list skips, and the sounds."""
    import av.error

    picture, audio = container.streams.video[0], audio_streams(container)
    shown: dict[int, int] = {}
    skipped = 0
    ends: dict[int, tuple[Fraction, Fraction]] = {}
    try:
        for packet in container.demux([picture, *audio]):
            time = packet.pts if packet.pts is not None else packet.dts
            if time is None:
                continue
            end = time + (packet.duration or 0)
            if packet.is_discard:  # kept for decoding only
                skipped += packet.stream_index == picture.index
            elif packet.stream_index == picture.index:
                shown[time] = packet.duration or 0
            else:
                begins, stops = time * packet.time_base, end * packet.time_base
                first, last = ends.get(packet.stream_index, (begins, stops))
                ends[packet.stream_index] = min(first, begins), max(last, stops)
    except av.error.FFmpegError as error:
        logger.warning("the video breaks off: %s", error.strerror)
    sounds = tuple(
        SoundInfo(
            stream.codec_context.codec.canonical_name,
            stream.codec_context.channels,
            float(ends[stream.index][1] - ends[stream.index][0]),
        )
        for stream in audio
        if stream.index in ends
    )
    return shown, skipped, sounds


def _stated_seconds(stream: "VideoStream") -> Fraction:
    """How long the picture lasts by the header or, in Matroska, by its tag; 0 where none says."""
    if stream.duration and stream.time_base:
        return stream.duration * stream.time_base
    clock = re.fullmatch(r"(\d+):(\d+):(\d+\.?\d*)", stream.metadata.get("DURATION", ""))
    if clock is None:
        return Fraction(0)
    hours, minutes, seconds = clock.groups()
    end = int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)
    return end - (stream.start_time or 0) * (stream.time_base or Fraction(0))


def _picture(path: Path) -> tuple[int, ...]:
    """Height and width of the first frame, upright, as OpenCV will deliver the frames."""
    import cv2

    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    try:
        found, picture = capture.read()
    finally:
        capture.release()
    if not found:
        raise unreadable(path, 0)
    return picture.shape[:2]


def _rate(
    starts: tuple[int, ...], time_base: Fraction, stated: list[Fraction]
) -> tuple[Fraction, bool]:
    """The rate, and whether frame times vary.

    Times are even when none lies further than one tick, or a hundredth of an interval, from the
    grid of a stated rate or of the mean rate: containers round (Matroska to milliseconds).
    """
    if len(starts) == 1:
        return (stated[0] if stated else Fraction(1)), False
    mean = (len(starts) - 1) / ((starts[-1] - starts[0]) * time_base)
    mean = mean.limit_denominator(LARGEST_DENOMINATOR)
    ticks = np.array(starts, np.float64) - starts[0]
    for rate in [*stated, mean]:
        interval = 1 / (rate * time_base)
        off = np.abs(ticks - np.arange(len(ticks)) * float(interval)).max()
        if off <= max(1.0, float(interval) / 100) + 1e-6:
            return rate, False
    return mean, True


def _times(
    starts: tuple[int, ...], time_base: Fraction, last: int, fps: Fraction, variable: bool
) -> FrameTimes:
    """The times as they should be written: exact ticks, with the container's rounding undone."""
    interval = 1 / (fps * time_base)
    if variable:
        whole = max(1, round(interval))
        return FrameTimes(time_base, starts, starts[-1] + (last or whole), whole)
    if interval.denominator != 1:
        finer = 1
        while fps.numerator * finer < FINEST_TICK:
            finer *= 2
        first = round(starts[0] * time_base * fps.numerator * finer)
        time_base, interval = Fraction(1, fps.numerator * finer), Fraction(fps.denominator * finer)
    else:
        first = starts[0]
    step = int(interval)
    even = tuple(first + number * step for number in range(len(starts)))
    return FrameTimes(time_base, even, even[-1] + step, step)


def unreadable(path: Path, stated: int) -> InputError:
    """The error for a video of whose `stated` frames none could be decoded."""
    promised = f" of the {stated} it promises" if stated else ""
    return InputError(
        f"{path}: not one frame{promised} could be decoded; "
        "play it or convert it to mp4 to see what is wrong with it"
    )

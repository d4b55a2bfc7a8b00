"""What a video file holds: rate, size, sound, when each frame is shown, and the frames.

Frame times are listed from the file's packets by PyAV, without decoding anything.
"""

import itertools
import logging
from bisect import bisect_left
from collections.abc import Iterator
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

logger = logging.getLogger(__name__)

FINEST_TICK = 10_000
"""Ticks a second, at least, in which the times of an even video are written."""

DAMAGED_FRAMES = 30
"""Frames in a row that may fail to decode before a video counts as ended."""

LARGEST_DENOMINATOR = 100_000
"""Of a mean rate, since containers keep both parts in 32 bits."""


@dataclass(frozen=True)
class FrameTimes:
    """When frames are shown: frame k from `starts[k]` ticks of `time_base` seconds to the next one,
    the last one to `end`. Frames that a reader finds past the last follow at `interval`."""

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

    `frames` is the number of pictures in the file, `frames_stated` what its header promises: more
    in a truncated file. `fps` is the nominal rate, or the mean rate of variable frame times.
    `width` and `height` are of the upright picture. `origin` is the second from which OpenCV
    counts. `sound` is the codec and the seconds of the first audio stream, if there is one.
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
    sound: tuple[str, float] | None

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
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            if not container.streams.video:
                raise InputError(f"{path} holds no picture stream; a video file is expected")
            stream = container.streams.video[0]
            shown, skipped, sound = _listed(container)
            counted = max(0, stream.frames - skipped)  # only mp4 and its kin count their frames
            rates = [rate for rate in (stream.average_rate, stream.base_rate) if rate]
            time_base = stream.time_base
            origin = (stream.start_time or 0) * (time_base or Fraction(0))
            pixel_aspect = stream.sample_aspect_ratio or Fraction(1)
    except av.error.FFmpegError as error:
        raise InputError(
            f"{path} cannot be read as a video ({error.strerror}): is the file complete?"
        ) from error
    height, width = _picture(path)
    if not shown or time_base is None:
        raise unreadable(path, counted)
    starts = tuple(sorted(shown))
    fps, variable = _rate(starts, time_base, rates)
    times = _times(starts, time_base, shown[starts[-1]], fps, variable)
    frames, stated = len(starts), counted or len(starts)
    return VideoInfo(
        path, fps, frames, stated, width, height, pixel_aspect, variable, origin, times, sound
    )


def audio_streams(container: "InputContainer") -> list["AudioStream"]:
    """The audio streams whose codec FFmpeg knows."""
    return [stream for stream in container.streams.audio if stream.codec_context is not None]


def _listed(
    container: "InputContainer",
) -> tuple[dict[int, int], int, tuple[str, float] | None]:
    """From the packets: the shown pictures' times and durations in ticks, pictures that an edit
    list skips, and codec and seconds of the first sound."""
    import av.error

    picture, audio = container.streams.video[0], audio_streams(container)[:1]
    shown: dict[int, int] = {}
    skipped = 0
    heard: list[Fraction] = []  # when its packets begin and end
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
                heard += [time * packet.time_base, end * packet.time_base]
    except av.error.FFmpegError as error:
        logger.warning("the video breaks off: %s", error.strerror)
    codec = audio[0].codec_context.codec.canonical_name if heard else ""
    return shown, skipped, (codec, float(max(heard) - min(heard))) if heard else None


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
    """The rate, and whether frame times vary: lie further than one tick, or a hundredth of an
    interval, from the grid of a stated rate or of the mean rate (containers round)."""
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
    return InputError(f"{path}: not one frame{promised} could be decoded; convert it to mp4")


def read_frames(info: VideoInfo) -> Iterator[tuple[np.ndarray, int]]:
    """Frames uint8 [H, W, 3] RGB, read by OpenCV as in section IV-B 11 of the paper, upright, each
    with its number in `info.times`; one that cannot be decoded is left out.

    Raises InputError when none can.
    """
    import cv2

    capture = cv2.VideoCapture(str(info.path), cv2.CAP_FFMPEG)
    seconds = [float(tick * info.times.time_base) for tick in info.times.starts]
    number, failed = -1, 0
    try:
        # A failed read is the end or a damaged frame; behind the latter OpenCV reads on.
        while failed <= DAMAGED_FRAMES and not (failed and number >= info.frames - 1):
            found, picture = capture.read()
            failed = 0 if found else failed + 1
            if not found:
                continue
            shown = float(info.origin) + capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
            number = _matched(seconds, shown, number + 1)
            if picture.shape[:2] != (info.height, info.width):
                # Recorded calls change their size on the way; a written video cannot.
                size = (info.width, info.height)
                picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
            yield cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), number
    finally:
        capture.release()
    if number < 0:
        raise unreadable(info.path, info.frames_stated)


def read_batches(info: VideoInfo, batch: int) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Frames uint8 [n, H, W, 3] RGB with their numbers, n = `batch` but for the last."""
    frames = read_frames(info)
    while taken := list(itertools.islice(frames, batch)):
        yield np.stack([frame for frame, _ in taken]), [number for _, number in taken]


def _matched(seconds: list[float], shown: float, earliest: int) -> int:
    """The frame, not before `earliest`, that was to be shown nearest to `shown` seconds."""
    if earliest >= len(seconds):
        return earliest
    after = bisect_left(seconds, shown, lo=earliest)
    if after == earliest:
        return earliest
    if after == len(seconds) or shown - seconds[after - 1] < seconds[after] - shown:
        return after - 1
    return after

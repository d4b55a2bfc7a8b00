"""What a video is, by PyAV: its rate, size and sound, and when each frame is shown.

Frame times are listed from the packets, without decoding. A film begins where its first picture or
sound does, and its last frame lasts as long as its packet or its track says.
"""

import logging
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from triptych.core.errors import InputError, reason
from triptych.core.files import not_a_file
from triptych.style.data.sample_values import HDR
from triptych.style.video.packets import (
    audio_streams,
    decoded_frames,
    film_packets,
    open_video,
    orientation,
    picture_streams,
)

logger = logging.getLogger(__name__)

FINEST_TICK = 10_000
"""Ticks a second, at least, in which the times of an even video are written."""

LARGEST_DENOMINATOR = 100_000
"""Of a mean rate, since containers keep both parts in 32 bits."""


@dataclass(frozen=True)
class VideoInfo:
    """A video as a viewer sees it.

    `frames` is the number of pictures in the file, `frames_stated` what its header promises: more
    in a truncated file. `fps` is the nominal rate, or the mean rate of variable frame times.
    `width` and `height` are of the upright picture, `pixel_aspect` a pixel's width over its height
    there. Frame k is shown from `starts[k]` ticks of `time_base` seconds to the next one, the last
    one to `end`; frames that a reader finds past it follow at `interval`. `origin` is the second of
    the file that is 0 in them: that of the first picture or sound, or 0 where one begins before.
    `stamps` are the frames' time stamps in the file, in its own ticks; none where they don't tell
    in which order frames are shown. `sound` is the codec and the seconds of the first audio stream,
    if there is one. `tags` are the file's title, date, place and the like, by FFmpeg's names.
    `broken` is why its packets could not be read to the end, or empty.
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
    time_base: Fraction
    starts: tuple[int, ...]
    end: int
    interval: int
    stamps: tuple[int, ...]
    sound: tuple[str, float] | None
    tags: dict[str, str]
    broken: str

    @property
    def duration(self) -> Fraction:
        """Seconds from the first frame's appearance to the end of the last."""
        return (self.end - self.starts[0]) * self.time_base

    def start(self, frame: int) -> int:
        """Ticks at which a frame appears; also for the one after the last, which is the end."""
        if frame < len(self.starts):
            return self.starts[frame]
        return self.end + (frame - len(self.starts)) * self.interval


def probe(path: str | Path) -> VideoInfo:
    """Contents of a video. The whole file is read, but only the first frame is decoded.

    Raises InputError for a file that isn't there, isn't a video, or has no frame that can be read.
    """
    path = Path(path)
    if odd := not_a_file(path):
        raise InputError(f"{path} is {odd}")
    try:
        with open_video(path) as container:
            if not (streams := picture_streams(container)):
                raise InputError(f"{path} holds no picture stream; a video file is expected")
            stream, *others = streams
            if others:
                logger.warning("%s: of %d films in one, the first is painted", path, len(streams))
            listed = _Listed(container, stream)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InputError(
            f"{path} cannot be read as a video ({reason(error)}): is the file complete?"
        ) from error
    if not listed.shown:
        raise unreadable(path, listed.counted)
    with open_video(path) as container:
        first = next(decoded_frames(container), None)
    if first is None:
        raise unreadable(path, listed.counted)
    width, height, pixel_aspect = first.width, first.height, listed.pixel_aspect
    if orientation(first)[0]:
        width, height, pixel_aspect = height, width, 1 / pixel_aspect
    if curve := HDR.get(first.color_trc):
        logger.warning(
            "%s: high dynamic range (%s), which is painted as if it were not: its colours come out "
            "dull. Let a video editor make it SDR first",
            path,
            curve,
        )
    stamps = tuple(sorted(listed.shown))
    starts = tuple(stamp - round(listed.begins / listed.tick) for stamp in stamps)
    fps, variable = _rate(starts, listed.tick, listed.rates)
    if listed.untimed:
        logger.warning(
            "%s: a bare stream without times; each frame is shown for 1/%s s", path, float(fps)
        )
    tick, starts, end, interval = _times(starts, listed.tick, listed.last, fps, variable)
    return VideoInfo(
        path=path,
        fps=fps,
        frames=len(stamps),
        frames_stated=listed.counted or len(stamps),
        width=width,
        height=height,
        pixel_aspect=pixel_aspect,
        variable=variable,
        origin=listed.begins,
        time_base=tick,
        starts=starts,
        end=end,
        interval=interval,
        stamps=() if listed.in_order else stamps,
        sound=listed.sound,
        tags=listed.tags,
        broken=listed.broken,
    )


class _Listed:
    """Contents of an open film, from its packets.

    `shown` are the pictures' times and durations in ticks of `tick` seconds, `untimed` whether the
    file doesn't tell them, `in_order` whether frames take them one after the other; `last` is the
    last picture's duration, `counted` how many the header promises, 0 if it doesn't; `rates` are
    those it states, `sound` codec and seconds of the first sound, `begins` the film's first second,
    `broken` why the packets end early, or empty.
    """

    def __init__(self, container: InputContainer, stream: VideoStream) -> None:
        self.tick = stream.time_base or Fraction(1)
        self.rates = [rate for rate in (stream.average_rate, stream.base_rate) if rate]
        self.pixel_aspect = stream.sample_aspect_ratio or Fraction(1)
        self.tags = dict(container.metadata)
        self.shown: dict[int, int] = {}
        self.broken = ""
        audio = audio_streams(container)[:1]
        skipped, untimed = 0, 0  # pictures before an edit list's begin; ticks without a time
        heard: list[Fraction] = []  # when packets of the sound begin and end
        try:
            for packet in film_packets(container):
                time = packet.pts if packet.pts is not None else packet.dts
                pictured, lasts = packet.stream_index == stream.index, packet.duration or 0
                if time is None:
                    untimed += pictured * lasts
                elif packet.is_discard:  # kept for decoding only
                    skipped += pictured
                elif pictured:
                    self.shown[time] = lasts
                elif packet.stream_index == audio[0].index:
                    heard += [time * packet.time_base, (time + lasts) * packet.time_base]
        except Exception as error:  # a damaged file may raise anything
            self.broken = reason(error)
            logger.warning("the video breaks off: %s", self.broken)
        self.untimed = untimed > 0 and not self.shown
        if self.untimed:
            interval = 1 / ((stream.guessed_rate or stream.average_rate or 25) * self.tick)
            count = max(1, round(untimed / interval))
            self.shown = {round(n * interval): round(interval) for n in range(count)}
        reordered = container.format.name == "avi" and stream.codec_context.has_b_frames
        self.in_order = self.untimed or reordered
        self.counted = max(0, stream.frames - skipped)  # which mp4 and AVI do
        final = max(self.shown, default=0)
        decoded = next(reversed(self.shown), 0)  # last, which isn't shown last behind B-frames
        self.last = max(self.shown.get(time, 0) + time - final for time in (final, decoded))
        held = (stream.start_time or 0) + (stream.duration or 0) - final
        if held <= self.last:  # nothing is missing: AVI counts times without a picture, too
            self.counted = min(self.counted, len(self.shown))
        elif self.counted == len(self.shown):
            self.last = held
        codec = audio[0].codec_context.codec.canonical_name if heard else ""
        self.sound = (codec, float(max(heard) - min(heard))) if heard else None
        first = min(self.shown, default=0) * self.tick
        self.begins = max(Fraction(0), min(first, *heard[:1]) if heard else first)


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
) -> tuple[Fraction, tuple[int, ...], int, int]:
    """`VideoInfo`'s tick, starts, end and interval as they should be written: exact, with the
    container's rounding undone.

    last: ticks that the last frame's packet states, 0 where it states none.
    """
    interval = 1 / (fps * time_base)
    if variable:
        whole = max(1, round(interval))
        return time_base, starts, starts[-1] + (last or whole), whole
    longer = interval + max(Fraction(1), interval / 100)
    held = last * time_base if last > longer else Fraction(0)
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
    return time_base, even, even[-1] + (round(held / time_base) or step), step


def unreadable(path: Path, stated: int) -> InputError:
    """The error for a video of whose `stated` frames none could be decoded."""
    promised = f" of the {stated} it promises" if stated else ""
    return InputError(f"{path}: not one frame{promised} could be decoded; convert it to mp4")

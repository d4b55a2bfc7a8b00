"""Reading a video by PyAV: its rate, size and sound, when each frame is shown, and the frames.

All times are the container's. Frame times are listed from the packets, without decoding; a film
begins where its first picture or sound does, and its last frame lasts as long as its packet says.
"""

import itertools
import logging
import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.error
import cv2
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace

from triptych.core.errors import InputError
from triptych.core.files import not_a_file

logger = logging.getLogger(__name__)

FINEST_TICK = 10_000
"""Ticks a second, at least, in which the times of an even video are written."""

UNSPECIFIED = 2
"""The number of ITU-T H.273 for a colour matrix that a film doesn't tell."""

STANDARD_LINES = 576
"""Lines of a frame of standard definition, at most."""

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
    `stamps` are the frames' time stamps in the file, in its own ticks. `sound` is the codec and the
    seconds of the first audio stream, if there is one.
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
            if not container.streams.video:
                raise InputError(f"{path} holds no picture stream; a video file is expected")
            stream = container.streams.video[0]
            shown, skipped, sound, begins = _listed(container)
            counted = max(0, stream.frames - skipped)  # only mp4 and its kin count their frames
            rates = [rate for rate in (stream.average_rate, stream.base_rate) if rate]
            time_base = stream.time_base
            pixel_aspect = stream.sample_aspect_ratio or Fraction(1)
    except av.error.FFmpegError as error:
        raise InputError(
            f"{path} cannot be read as a video ({error.strerror}): is the file complete?"
        ) from error
    if not shown or time_base is None:
        raise unreadable(path, counted)
    with open_video(path) as container:
        first = next(_decoded(container), None)
        if first is None:
            raise unreadable(path, counted)
        height, width = upright(first).shape[:2]
        if _orientation(first)[0]:
            pixel_aspect = 1 / pixel_aspect
    stamps = tuple(sorted(shown))
    starts = tuple(stamp - round(begins / time_base) for stamp in stamps)
    fps, variable = _rate(starts, time_base, rates)
    tick, starts, end, interval = _times(starts, time_base, shown[stamps[-1]], fps, variable)
    return VideoInfo(
        path=path,
        fps=fps,
        frames=len(stamps),
        frames_stated=counted or len(stamps),
        width=width,
        height=height,
        pixel_aspect=pixel_aspect,
        variable=variable,
        origin=begins,
        time_base=tick,
        starts=starts,
        end=end,
        interval=interval,
        stamps=stamps,
        sound=sound,
    )


def open_video(path: str | Path) -> InputContainer:
    """A video file, open for reading, whatever its name: "a:b.mp4" is no protocol."""

    return av.open(f"file:{path}", metadata_errors="replace")


NO_FILMS = {"tty", "image2", "gif", "lrc", "srt", "subviewer", "webvtt", "ass"}
"""FFmpeg's names of formats of texts and pictures that have a picture stream or look like one."""


def holds_film(path: str | Path) -> bool:
    """Whether a file's content is a film; a sound's cover picture is none."""

    try:
        with open_video(path) as container:
            name = container.format.name
            if name in NO_FILMS or name.endswith("_pipe"):
                return False
            cover = Disposition.attached_pic
            return not all(stream.disposition & cover for stream in container.streams.video)
    except (av.error.FFmpegError, OSError, ValueError):
        return False


def audio_streams(container: InputContainer) -> list[AudioStream]:
    """The audio streams whose codec FFmpeg knows."""
    return [stream for stream in container.streams.audio if stream.codec_context is not None]


def _listed(
    container: InputContainer,
) -> tuple[dict[int, int], int, tuple[str, float] | None, Fraction]:
    """From the packets: the shown pictures' times and durations in ticks, how many pictures an edit
    list skips, codec and seconds of the first sound, and the second at which the film begins."""

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
    sound = (codec, float(max(heard) - min(heard))) if heard else None
    first = min(shown, default=0) * (picture.time_base or Fraction(0))
    return shown, skipped, sound, max(Fraction(0), min(first, *heard[:1]) if heard else first)


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


def read_frames(info: VideoInfo) -> Iterator[tuple[np.ndarray, int]]:
    """Frames uint8 [H, W, 3] RGB, upright, each with its number in `info.starts`.

    A frame that cannot be decoded is left out. Raises InputError when none can.
    """

    number = -1
    with open_video(info.path) as container:
        for frame in _decoded(container):
            stamp = frame.pts if frame.pts is not None else frame.dts
            number = _matched(info.stamps, stamp, number + 1)
            picture = upright(frame)
            if picture.shape[:2] != (info.height, info.width):
                # Recorded calls change their size on the way; a written video cannot.
                size = (info.width, info.height)
                picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
            yield picture, number
    if number < 0:
        raise unreadable(info.path, info.frames_stated)


def _decoded(container: InputContainer) -> Iterator[VideoFrame]:
    """The frames of the first picture stream that can be decoded, in the order of showing."""

    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
        except av.error.FFmpegError:  # `_listed` has told that the file breaks off
            packet = None
        try:
            yield from stream.decode(packet)  # None: what the decoder still holds
        except av.error.EOFError:
            return
        except av.error.FFmpegError as error:
            logger.warning("a damaged packet is left out: %s", error.strerror)
        if packet is None:
            return


def upright(frame: VideoFrame) -> np.ndarray:
    """A frame as uint8 [H, W, 3] RGB, turned and mirrored as its display matrix says."""
    picture = _rgb(frame)
    turned, across, down = _orientation(frame)
    if turned:
        picture = picture.swapaxes(0, 1)
    return np.ascontiguousarray(picture[:: -1 if down else 1, :: -1 if across else 1])


def _rgb(frame: VideoFrame) -> np.ndarray:
    """A frame as uint8 [H, W, 3] RGB. Of untagged films, as players do, BT.709 is taken for those
    of high definition; swscale takes BT.601 for all."""

    untagged = frame.colorspace == UNSPECIFIED and not frame.format.is_rgb
    if untagged and frame.height > STANDARD_LINES:
        frame = frame.reformat(format="rgb24", src_colorspace=Colorspace.ITU709)
    return frame.to_ndarray(format="rgb24")


def _orientation(frame: VideoFrame) -> tuple[bool, bool, bool]:
    """Whether a frame's rows and columns are exchanged, and then mirrored across and down.

    The display matrix [[a, b], [c, d]] shows the pixel at column x and row y at column a x + c y
    and row b x + d y (ISO/IEC 14496-12, 8.5.3).
    """
    found: Any = frame.side_data.get("DISPLAYMATRIX")
    if found is None:
        return False, False, False
    a, b, _, c, d = struct.unpack("5i", bytes(found)[:20])
    if abs(b) > abs(a):
        return True, c < 0, b < 0
    return False, a < 0, d < 0


def read_batches(info: VideoInfo, batch: int) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Frames uint8 [n, H, W, 3] RGB with their numbers, n = `batch` but for the last."""
    frames = read_frames(info)
    while taken := list(itertools.islice(frames, batch)):
        yield np.stack([frame for frame, _ in taken]), [number for _, number in taken]


def _matched(stamps: Sequence[int], stamp: int | None, earliest: int) -> int:
    """The frame, not before `earliest`, whose time stamp is nearest to `stamp`."""
    if stamp is None or earliest >= len(stamps):
        return earliest
    after = bisect_left(stamps, stamp, lo=earliest)
    if after == earliest:
        return earliest
    if after == len(stamps) or stamp - stamps[after - 1] < stamps[after] - stamp:
        return after - 1
    return after

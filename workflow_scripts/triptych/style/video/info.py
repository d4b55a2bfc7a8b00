"""Reading a video by PyAV: its rate, size and sound, when each frame is shown, and the frames.

Frame times are listed from the packets, without decoding. A film begins where its first picture or
sound does, and its last frame lasts as long as its packet or its track says. FFmpeg's filters turn
a frame into RGB, and fit it into the film's shape. Colours of films that don't tell their matrix
are read as mpv reads them: as BT.709 from 1280 pixels of width or 577 lines on, else as BT.601;
other players go by the lines alone.
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
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.filter import Graph
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange
from av.video.stream import VideoStream

from triptych.core.errors import InputError
from triptych.core.files import FFMPEG_FORMATS, not_a_file

logger = logging.getLogger(__name__)

FILM_FORMATS = (
    f"{FFMPEG_FORMATS},h264,hevc,vvc,mpegvideo,m4v,mjpeg,vc1,h261,h263,dirac,obu,ivf,yuv4mpegpipe,"
    "dv,nut,wtv,gxf,nsv,flic"
)
"""Formats that are read, by FFmpeg's names: those of sounds may hold pictures, others only do."""

FINEST_TICK = 10_000
"""Ticks a second, at least, in which the times of an even video are written."""

UNSPECIFIED = 2
"""The number of ITU-T H.273 for a colour matrix that a film doesn't tell."""

STANDARD_WIDTH, STANDARD_LINES = 1279, 576
"""Size of a frame of standard definition, at most."""

HDR = {16: "PQ", 18: "HLG"}
"""Curves of high dynamic range, by their numbers in H.273."""

LARGEST_DENOMINATOR = 100_000
"""Of a mean rate, since containers keep both parts in 32 bits."""

BACK_SECONDS = 0.1
"""A clock that goes back by more is another clock, as where recordings were joined."""

LONGEST_PAUSE_SECONDS = {"mpeg": 10.0, "mpegts": 10.0, "": 6 * 3600.0}
"""By format, "" for all others: what is longer is a jump to another clock."""


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
            if (stream := picture_stream(container)) is None:
                raise InputError(f"{path} holds no picture stream; a video file is expected")
            listed = _Listed(container, stream)
            rates = [rate for rate in (stream.average_rate, stream.base_rate) if rate]
            pixel_aspect = stream.sample_aspect_ratio or Fraction(1)
            tags = dict(container.metadata)
            ordered = listed.untimed or (
                container.format.name == "avi" and stream.codec_context.has_b_frames
            )
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InputError(
            f"{path} cannot be read as a video ({_words(error)}): is the file complete?"
        ) from error
    if not listed.shown:
        raise unreadable(path, listed.counted)
    with open_video(path) as container:
        first = next(_decoded(container), None)
    if first is None:
        raise unreadable(path, listed.counted)
    width, height = first.width, first.height
    if _orientation(first)[0]:
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
    fps, variable = _rate(starts, listed.tick, rates)
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
        stamps=() if ordered else stamps,
        sound=listed.sound,
        tags=tags,
    )


def open_video(path: str | Path) -> InputContainer:
    """A video file, open for reading, whatever its name: "a:b.mp4" is no protocol."""

    options = {"format_whitelist": FILM_FORMATS, "protocol_whitelist": "file"}
    return av.open(f"file:{path}", metadata_errors="replace", options=options)


def holds_film(path: str | Path) -> bool:
    """Whether a file's content is a film; a sound's cover picture is none."""

    try:
        with open_video(path) as container:
            return picture_stream(container) is not None
    except Exception:  # a damaged file may raise anything
        return False


def picture_stream(container: InputContainer) -> VideoStream | None:
    """The first stream of pictures that is no cover."""
    cover = Disposition.attached_pic
    streams = (one for one in container.streams.video if not one.disposition & cover)
    return next((one for one in streams if one.codec_context is not None), None)


def audio_streams(container: InputContainer) -> list[AudioStream]:
    """The audio streams whose codec FFmpeg knows."""
    return [stream for stream in container.streams.audio if stream.codec_context is not None]


def film_packets(container: InputContainer) -> Iterator[Packet]:
    """Packets of a film's pictures and sounds, on one clock.

    Where a clock jumps, as where recordings were joined, what follows is moved to where its own
    stream ends, or all that came before if one of them is much longer.
    """

    pause = LONGEST_PAUSE_SECONDS.get(container.format.name, LONGEST_PAUSE_SECONDS[""])
    decoding: dict[int, float] = {}  # seconds of the last packet, by stream
    ends: dict[int, float] = {}
    shifts: dict[int, float] = {}
    newest = 0.0
    for packet in container.demux([picture_stream(container), *audio_streams(container)]):
        if not packet.size:
            continue
        index, tick = packet.stream_index, float(packet.time_base)
        shift = shifts.setdefault(index, newest)
        if packet.dts is not None:
            time, shown = packet.dts * tick, (packet.pts or packet.dts) * tick
            latest = max(ends.values(), default=time)
            earliest = decoding.get(index, time + shift) - BACK_SECONDS
            if not earliest <= time + shift <= latest + pause:
                own = ends.get(index, latest)
                if not earliest <= time + newest <= latest + pause:
                    newest = (own if latest - own <= BACK_SECONDS else latest) - shown
                shift = shifts[index] = max(newest, own - shown)
            decoding[index] = time + shift
            ends[index] = max(ends.get(index, 0.0), shown + shift + (packet.duration or 0) * tick)
            packet.dts += round(shift / tick)
        if packet.pts is not None:
            packet.pts += round(shift / tick)
        yield packet


class _Listed:
    """Contents of an open film, from its packets.

    `shown` are the pictures' times and durations in ticks of `tick` seconds, `untimed` whether the
    file doesn't tell them; `last` is the last picture's duration, `counted` how many the header
    promises, 0 if it doesn't; `sound` codec and seconds of the first sound; `begins` the film's
    first second.
    """

    def __init__(self, container: InputContainer, stream: VideoStream) -> None:

        self.tick = stream.time_base or Fraction(1)
        self.shown: dict[int, int] = {}
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
            logger.warning("the video breaks off: %s", _words(error))
        self.untimed = untimed > 0 and not self.shown
        if self.untimed:
            interval = 1 / ((stream.average_rate or stream.guessed_rate or 25) * self.tick)
            count = max(1, round(untimed / interval))
            self.shown = {round(n * interval): round(interval) for n in range(count)}
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


def _words(error: Exception) -> str:
    """Message of an error that a damaged file raised."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


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

    A frame that cannot be decoded is left out. One of another shape, as where a recorded call is
    turned, is fitted into the film's, with black beside it. Raises InputError when none can.
    """

    number = -1
    graph, kind = None, None
    with open_video(info.path) as container:
        stream = picture_stream(container)
        assert stream is not None
        for frame in _decoded(container):
            stamp = frame.pts if frame.pts is not None else frame.dts
            number = _matched(info.stamps, stamp, number + 1)
            if number == 0 or graph is None:
                aspect = stream.codec_context.sample_aspect_ratio or Fraction(1)
            if kind != (kind := (*_colours(frame), *_orientation(frame))):
                graph = _graph(frame, kind, info, aspect)
            graph.push(frame)
            yield graph.pull().to_ndarray(), number
    if number < 0:
        raise unreadable(info.path, info.frames_stated)


def _decoded(container: InputContainer) -> Iterator[VideoFrame]:
    """The frames of the first picture stream that can be decoded, in the order of showing."""

    stream = picture_stream(container)
    assert stream is not None
    stream.thread_type = "AUTO"
    packets = (one for one in film_packets(container) if one.stream_index == stream.index)
    packet: Packet | None
    while True:
        try:
            packet = next(packets, None)
        except Exception:  # `_Listed` has told that the file breaks off
            packet = None
        try:
            yield from stream.decode(packet)  # None: what the decoder still holds
        except av.error.EOFError:
            return
        except Exception as error:  # a damaged packet may raise anything
            logger.warning("a damaged packet is left out: %s", _words(error))
        if packet is None:
            return


def _graph(
    frame: VideoFrame, kind: tuple[str, bool, bool, bool, bool], info: VideoInfo, aspect: Fraction
) -> Graph:
    """FFmpeg's filters between frames of a kind and the film's own size, upright, in RGB.

    aspect: of a pixel of the film's first frame, as that itself states it
    """

    matrix, limited_grey, turned, across, down = kind
    width, height = (info.height, info.width) if turned else (info.width, info.height)
    smaller = f"min({width}*{aspect}/(iw*sar),{height}/ih)"
    expanded = "round((val-16)*255/219)"
    filters = [
        (
            "scale",
            {
                "w": f"max(1,round(iw*sar/({aspect})*{smaller}))",
                "h": f"max(1,round(ih*{smaller}))",
                "eval": "frame",
                "flags": "bilinear",
                "in_color_matrix": matrix,
            },
        ),
        ("format", {"pix_fmts": "rgb24"}),
        ("pad", {"w": str(width), "h": str(height), "x": "-1", "y": "-1", "eval": "frame"}),
    ]
    if limited_grey:  # FFmpeg takes the full range for all of one channel
        filters.append(("lutrgb", dict.fromkeys("rgb", expanded)))
    turns = [("transpose", turned), ("hflip", across), ("vflip", down)]
    filters += [(name, {}) for name, wanted in turns if wanted]
    graph = Graph()
    graph.link_nodes(
        graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=info.time_base
        ),
        *[graph.add(name, **options) for name, options in filters],
        graph.add("buffersink"),
    ).configure()
    return graph


def _colours(frame: VideoFrame) -> tuple[str, bool]:
    """FFmpeg's name of a frame's colour matrix, and whether it is grey in limited range."""

    large = frame.width > STANDARD_WIDTH or frame.height > STANDARD_LINES
    untagged = frame.colorspace == UNSPECIFIED and not frame.format.is_rgb
    grey = frame.format.name.startswith(("gray", "ya"))
    return "bt709" if untagged and large else "auto", grey and frame.color_range == ColorRange.MPEG


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

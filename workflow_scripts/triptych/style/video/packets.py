"""Opening films, and their packets and frames, on one clock."""

import logging
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import av.error
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from triptych.core.errors import reason
from triptych.core.files import FFMPEG_FORMATS
from triptych.style.video.motion_jpeg import is_motion_jpeg

logger = logging.getLogger(__name__)

FILM_FORMATS = (
    f"{FFMPEG_FORMATS},h264,hevc,vvc,mpegvideo,m4v,mjpeg,vc1,h261,h263,dirac,obu,ivf,yuv4mpegpipe,"
    "dv,nut,wtv,gxf,nsv,flic"
)
"""Formats that are read, by FFmpeg's names: those of sounds may hold pictures, others only do."""

BACK_SECONDS = 0.1
"""A clock that goes back by more is another clock, as where recordings were joined."""

LONGEST_PAUSE_SECONDS = {"mpeg": 10.0, "mpegts": 10.0, "": 6 * 3600.0}
"""By format, "" for all others: what is longer is a jump to another clock."""


@contextmanager
def open_video(path: str | Path) -> Iterator[InputContainer]:
    """A video file, open for reading, whatever its name: its content says what it is."""
    with open(path, "rb") as stream:
        options = {
            "format_whitelist": FILM_FORMATS,
            "protocol_whitelist": "fd",
            "fd": str(stream.fileno()),
        }
        form = "mjpeg" if is_motion_jpeg(Path(path)) else None  # else taken for one picture
        with av.open("fd:", "r", form, metadata_errors="replace", options=options) as container:
            yield container


def holds_film(path: str | Path) -> bool:
    """Whether a file's content is a film; a sound's cover picture is none."""
    try:
        with open_video(path) as container:
            return bool(picture_streams(container))
    except Exception:  # a damaged file may raise anything
        return False


def picture_streams(container: InputContainer) -> list[VideoStream]:
    """The streams of pictures that are no covers, of which the first is painted."""
    cover = Disposition.attached_pic
    streams = [one for one in container.streams.video if not one.disposition & cover]
    return [one for one in streams if one.codec_context is not None]


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
    for packet in container.demux([picture_streams(container)[0], *audio_streams(container)]):
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


def decoded_frames(container: InputContainer) -> Iterator[VideoFrame]:
    """The frames of the first picture stream that can be decoded, in the order of showing."""
    stream = picture_streams(container)[0]
    stream.thread_type = "AUTO"
    packets = (one for one in film_packets(container) if one.stream_index == stream.index)
    packet: Packet | None
    while True:
        try:
            packet = next(packets, None)
        except Exception:  # `probe` has told that the file breaks off
            packet = None
        try:
            yield from stream.decode(packet)  # None: what the decoder still holds
        except av.error.EOFError:
            return
        except Exception as error:  # a damaged packet may raise anything
            logger.warning("a damaged packet is left out: %s", reason(error))
        if packet is None:
            return


def orientation(frame: VideoFrame) -> tuple[bool, bool, bool]:
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

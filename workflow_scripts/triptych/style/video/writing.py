"""Writing videos by PyAV: H.264 in mp4, with sound.

The bytes depend on the frames alone: numbers of threads are fixed, and no file carries a date or a
random identifier.
"""

import logging
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from av.video.reformatter import ColorRange, Colorspace

from triptych.core.errors import reason
from triptych.style.video.sound import Sound, SoundMaker

logger = logging.getLogger(__name__)

BT709 = 1
"""The number of ITU-T H.273 for the matrix, primaries and curve of HDTV."""

LIMITED_RANGE = 1


class VideoWriter:
    """Writes uint8 RGB frames to `path`, each at its time; a context manager.

    Colours are yuv420p, which every player knows, when both sides are even; with an odd side it is
    yuv444p. `size` is height and width, `fps` the nominal rate, `time_base` the seconds of a tick,
    `pixel_aspect` a pixel's width over its height, `crf` x264's constant rate factor, `tags` the
    file's title, date, place and the like, of which mp4 takes what it knows.
    """

    def __init__(
        self,
        path: str | Path,
        size: tuple[int, int],
        fps: Fraction,
        time_base: Fraction,
        *,
        pixel_aspect: Fraction = Fraction(1),
        crf: int = 18,
        sound: SoundMaker | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        height, width = size
        self._time_base = time_base
        # B-frames would make an mp4 count its duration by decoding times, which is wrong by some
        # frames when their times vary.
        settings = {"crf": str(crf), "preset": "medium", "bf": "0", "threads": "4"}
        # x264 0.165's AVX-512 code of this gives the same frames other bytes now and then.
        settings["x264-params"] = "mbtree=0"
        options = {"fflags": "+bitexact", "movflags": "+faststart"}
        self._file = av.open(f"file:{path}", "w", format="mp4", container_options=options)
        self._file.metadata.update(tags or {})
        if place := self._file.metadata.get("com.apple.quicktime.location.ISO6709"):
            self._file.metadata.setdefault("location", place)
        self._stream: Any = self._file.add_stream("libx264", rate=fps, options=settings)
        context = self._stream.codec_context
        context.width, context.height = width, height
        context.sample_aspect_ratio = pixel_aspect
        self._stream.time_base = context.time_base = time_base
        even = width % 2 == 0 and height % 2 == 0
        context.pix_fmt = "yuv420p" if even else "yuv444p"
        context.colorspace = context.color_primaries = context.color_trc = BT709
        context.color_range = LIMITED_RANGE
        if not even:
            logger.warning(
                "%dx%d has an odd side: the video is written as 4:4:4, which some players don't "
                "show",
                width,
                height,
            )
        self._sound = _unfailing(sound(self._file)) if sound else iter(())
        self._next_sound = next(self._sound, None)
        self._held: Any = None  # the last packet, until its duration is known

    def __enter__(self) -> "VideoWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, frame: np.ndarray, start: int) -> None:
        """Show `frame`, uint8 [H, W, 3] RGB, from `start` ticks on. Starts must rise."""
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        picture = picture.reformat(
            format=self._stream.codec_context.pix_fmt,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
        )
        picture.pts, picture.time_base = start, self._time_base
        for packet in self._stream.encode(picture):
            self._write(packet)

    def finish(self, end: int) -> None:
        """The last frame is shown until `end` ticks; all that is left is written."""
        for packet in self._stream.encode(None):
            self._write(packet)
        if self._held is not None:
            self._held.duration = end - self._held.pts
            self._file.mux(self._held)
            self._held = None
        self._write_sound_until(float("inf"))

    def _write(self, packet: Any) -> None:
        """Hold a packet back until the next one tells how long it lasts: an encoder only knows the
        nominal rate, which is wrong where frame times vary."""
        if self._held is not None:
            self._held.duration = packet.pts - self._held.pts
            self._file.mux(self._held)
        self._held = packet
        self._write_sound_until(float(packet.pts * self._time_base))

    def _write_sound_until(self, seconds: float) -> None:
        """Sound goes in between pictures, so that a player needs no long buffer."""
        while (sound := self._next_sound) is not None and sound[0] <= seconds:
            try:
                self._file.mux(sound[1])
            except av.error.FFmpegError as error:
                logger.warning("the sound ends after %.1f s: %s", sound[0], reason(error))
                self._sound = iter(())
            self._next_sound = next(self._sound, None)


def _unfailing(sound: Sound) -> Sound:
    """Sound up to where anything is raised: the picture goes on."""
    try:
        yield from sound
    except Exception as error:
        logger.warning("the sound breaks off: %s", reason(error))

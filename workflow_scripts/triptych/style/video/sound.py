"""The sound of a video that is written: copied from a source, or made."""

import logging
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import av
import av.error
from av import AudioFrame, Packet
from av.container import InputContainer, OutputContainer

from triptych.style.video.info import audio_streams

logger = logging.getLogger(__name__)

SOUND_IN_MP4 = frozenset({"aac", "mp3", "ac3", "eac3", "alac", "opus", "flac"})
"""Audio codecs whose packets an mp4 takes as they are; any other is decoded and encoded as AAC."""

AAC_BITS_A_SECOND = 160_000
AAC_RATES = frozenset({16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000})
AAC_LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}

Sound = Iterator[tuple[float, Packet]]
"""Packets for the output in rising order of their seconds."""

SoundMaker = Callable[[OutputContainer], Sound]
"""Adds its streams to a file that is about to be written, and gives their packets."""


def sound_of(source: InputContainer, origin: Fraction = Fraction(0)) -> SoundMaker | None:
    """Every audio stream of an open file: packets untouched where mp4 takes them, else as AAC.

    origin: second of the source that is 0 in the output. None when there is no sound. Sound that
    breaks off is kept up to there.
    """
    if not audio_streams(source):
        return None

    def make(output: OutputContainer) -> Sound:
        copied: dict[int, Any] = {}
        encoders: dict[int, _Encoder] = {}
        for stream in audio_streams(source):
            context = stream.codec_context
            if context.codec.canonical_name in SOUND_IN_MP4:
                target = copied[stream.index] = output.add_stream_from_template(stream)
            else:
                rate = context.sample_rate if context.sample_rate in AAC_RATES else 48_000
                target = _aac(output, rate, AAC_LAYOUTS.get(context.channels, "stereo"))
                encoders[stream.index] = _Encoder(target, origin)
            if stream.language:
                target.metadata["language"] = stream.language
        return _copied_or_encoded(source, copied, encoders, origin)

    return make


def sound_from(frames: Iterable[AudioFrame], rate: int, layout: str) -> SoundMaker:
    """Audio frames (planar float, with their times) as AAC."""

    def make(output: OutputContainer) -> Sound:
        target = _aac(output, rate, layout)
        return (packet for frame in (*frames, None) for packet in _timed(target.encode(frame)))

    return make


def _aac(output: OutputContainer, rate: int, layout: str) -> Any:
    return output.add_stream("aac", rate=rate, layout=layout, bit_rate=AAC_BITS_A_SECOND)


class _Encoder:
    """Encodes decoded audio of any kind as AAC, sample after sample."""

    def __init__(self, target: Any, origin: Fraction) -> None:

        self._origin = float(origin)

        self._target = target
        self._rate: int = target.codec_context.sample_rate
        layout = target.codec_context.layout.name
        self._resampler = av.AudioResampler("fltp", layout, self._rate)
        self._next: int | None = None

    def encode(self, frame: Any) -> Iterator[Packet]:
        """The packets that an audio frame completes; None: those that are left."""
        if self._next is None:
            if frame is None:
                return
            self._next = round(((frame.time or 0.0) - self._origin) * self._rate)
        for resampled in self._resampler.resample(frame):
            # Times are counted in samples: AVI and Matroska round those of their packets.
            resampled.sample_rate, resampled.time_base = self._rate, Fraction(1, self._rate)
            resampled.pts = self._next
            self._next += resampled.samples
            yield from self._target.encode(resampled)
        if frame is None:
            yield from self._target.encode(None)


def _copied_or_encoded(
    source: InputContainer,
    copied: dict[int, Any],
    encoders: dict[int, _Encoder],
    origin: Fraction,
) -> Sound:

    try:
        for packet in source.demux(audio_streams(source)):
            index = packet.stream.index
            if index in encoders:
                # The empty packet at the end too: the decoder holds frames back until then.
                for frame in packet.decode():
                    yield from _timed(encoders[index].encode(frame))
            elif packet.dts is not None:
                earlier = round(origin / packet.time_base)
                packet.dts -= earlier
                packet.pts = packet.dts if packet.pts is None else packet.pts - earlier
                packet.stream = copied[index]
                yield from _timed([packet])
    except av.error.FFmpegError as error:
        logger.warning("the source's sound breaks off: %s", error.strerror)
    for encoder in encoders.values():
        yield from _timed(encoder.encode(None))


def _timed(packets: Iterable[Packet]) -> Sound:
    for packet in packets:
        yield float((packet.dts or 0) * packet.time_base), packet

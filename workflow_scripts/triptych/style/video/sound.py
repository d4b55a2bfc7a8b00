"""The sound of a video that is written: copied from a source, or made.

What mp4 takes is found before a frame is painted: sound never costs the picture.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.error
from av import AudioFrame, Packet
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.filter import Graph

from triptych.core.errors import reason
from triptych.style.video.packets import audio_streams, film_packets, open_video

logger = logging.getLogger(__name__)

SOUND_IN_MP4 = frozenset({"aac", "mp3", "ac3", "eac3", "alac", "opus", "flac"})
"""Audio codecs whose packets an mp4 may take as they are; any other is encoded as AAC."""

AAC_BITS_A_SECOND = 160_000
AAC_RATES = frozenset({16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000})
AAC_LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}

Sound = Iterator[tuple[float, Packet]]
"""Packets for the output in rising order of their seconds."""

SoundMaker = Callable[[OutputContainer], Sound]
"""Adds its streams to a file that is about to be written, and gives their packets."""


def sound_of(path: Path, origin: Fraction) -> SoundMaker | None:
    """Every audio stream of a film: packets untouched where mp4 takes them, else as AAC.

    origin: second of the source that is 0 in the output. None when there is no sound. A stream that
    cannot be decoded is left out, with a warning; one that breaks off is kept up to there.
    """
    copied, encoded = _tried(path, origin)
    if not copied | encoded:
        return None

    def make(output: OutputContainer) -> Sound:
        opened = ExitStack()
        source = opened.enter_context(open_video(path))
        targets: dict[int, Any] = {}
        encoders: dict[int, _Encoder] = {}
        for stream in audio_streams(source):
            if stream.index in copied:
                target = output.add_stream_from_template(stream)
            elif stream.index in encoded:
                context = stream.codec_context
                rate = context.sample_rate if context.sample_rate in AAC_RATES else 48_000
                target = _aac(output, rate, AAC_LAYOUTS.get(context.channels, "stereo"))
                encoders[stream.index] = _Encoder(target, origin)
            else:
                continue
            targets[stream.index] = target
            target.disposition = stream.disposition
            if stream.language:
                target.metadata["language"] = stream.language
            # mp4 keeps a track's title as its handler's name.
            if title := stream.metadata.get("title") or stream.metadata.get("handler_name"):
                target.metadata["handler_name"] = title
        return _copied_or_encoded(opened, source, targets, encoders, origin)

    return make


def sound_from(frames: Iterable[AudioFrame], rate: int, layout: str) -> SoundMaker:
    """Audio frames (planar float, with their times) as AAC."""

    def make(output: OutputContainer) -> Sound:
        target = _aac(output, rate, layout)
        return (packet for frame in (*frames, None) for packet in _timed(target.encode(frame)))

    return make


def _tried(path: Path, origin: Fraction) -> tuple[set[int], set[int]]:
    """Indices of the streams that an mp4 takes as they are, and of those that can be decoded."""
    trials: dict[int, tuple[OutputContainer, Any]] = {}
    refused: set[int] = set()
    decodable: set[int] = set()
    with open_video(path) as source:
        streams = {stream.index: stream for stream in audio_streams(source)}
        with suppress(Exception):  # reading it again will tell
            for packet in film_packets(source):
                if (index := packet.stream_index) not in streams:
                    continue
                if index not in decodable:
                    with suppress(Exception):
                        decodable |= {index} if packet.decode() else set()
                if index in refused:
                    continue
                try:
                    output, target = trials.get(index) or _trial(streams[index])
                    trials[index] = output, target
                    output.mux(_moved(packet, target, origin))
                except Exception as error:
                    logger.debug("stream %d is no sound for mp4: %s", index, error)
                    trials.pop(index, None)
                    refused.add(index)
        for stream in source.streams.audio:
            if stream.codec_context is None or stream.index in refused - decodable:
                logger.warning(
                    "%s: the sound of stream %d cannot be read (%s); it is left out",
                    path,
                    stream.index,
                    _codec(stream),
                )
            elif stream.index in refused:
                logger.info("%s: the sound of stream %d is encoded as AAC", path, stream.index)
    return set(trials), refused & decodable


def _trial(stream: AudioStream) -> tuple[OutputContainer, Any]:
    """An mp4 of a stream alone, which is thrown away. Raises what FFmpeg does if it takes none."""
    if stream.codec_context.codec.canonical_name not in SOUND_IN_MP4:
        raise ValueError(f"{_codec(stream)} in mp4")
    output = av.open(os.devnull, "w", format="mp4")
    return output, output.add_stream_from_template(stream)


def _codec(stream: AudioStream) -> str:
    context = stream.codec_context
    return "an unknown codec" if context is None else context.codec.canonical_name


def _aac(output: OutputContainer, rate: int, layout: str) -> Any:
    return output.add_stream("aac", rate=rate, layout=layout, bit_rate=AAC_BITS_A_SECOND)


class _Encoder:
    """Encodes decoded audio of any kind as AAC; FFmpeg's filters keep its clock and fill pauses."""

    def __init__(self, target: Any, origin: Fraction) -> None:
        self._target, self._origin = target, origin
        self._graph: Graph | None = None
        self._kind: tuple[str, int, str] | None = None
        self._end = Fraction(0)
        self._damaged = False

    def decode(self, packet: Packet) -> Iterator[Packet]:
        """The packets that one of the source completes."""
        try:
            frames = packet.decode()
        except Exception as error:  # a damaged packet may raise anything
            if not self._damaged:
                logger.warning("damaged sound is silence in the result: %s", reason(error))
            self._damaged = True
            return
        for frame in frames:
            yield from self.encode(frame)  # type: ignore[arg-type]

    def encode(self, frame: AudioFrame | None) -> Iterator[Packet]:
        """The packets that an audio frame completes; None: those that are left."""
        if frame is None:
            yield from self._pulled(last=True)
            yield from self._target.encode(None)
            return
        rate = frame.sample_rate
        if self._kind != (kind := (frame.format.name, rate, frame.layout.name)):
            yield from self._pulled(last=True)
            self._kind, context = kind, self._target.codec_context
            self._graph = Graph()
            self._graph.link_nodes(
                self._graph.add_abuffer(sample_rate=rate, format=kind[0], layout=kind[2]),
                self._graph.add("aresample", f"{context.sample_rate}:async=1"),
                self._graph.add("aformat", f"fltp:channel_layouts={context.layout.name}"),
                self._graph.add("abuffersink"),
            ).configure()
        if frame.pts is not None and frame.time_base is not None:
            self._end = frame.pts * frame.time_base - self._origin
        frame.pts, frame.time_base = round(self._end * rate), Fraction(1, rate)
        self._end += Fraction(frame.samples, rate)
        assert self._graph is not None
        self._graph.push(frame)
        yield from self._pulled()

    def _pulled(self, last: bool = False) -> Iterator[Packet]:
        if self._graph is None:
            return
        if last:
            self._graph.push(None)
        with suppress(av.error.BlockingIOError, av.error.EOFError):
            while True:
                yield from self._target.encode(self._graph.pull())


def _copied_or_encoded(
    opened: ExitStack,
    source: InputContainer,
    targets: dict[int, Any],
    encoders: dict[int, _Encoder],
    origin: Fraction,
) -> Sound:
    with opened:
        try:
            for packet in film_packets(source):
                index = packet.stream_index
                if index in encoders:
                    yield from _timed(encoders[index].decode(packet))
                elif index in targets and packet.dts is not None:
                    yield from _timed([_moved(packet, targets[index], origin)])
        except Exception as error:  # a damaged file may raise anything
            logger.warning("the source's sound breaks off: %s", reason(error))
        for stream in audio_streams(source):
            if encoder := encoders.get(stream.index):
                # The decoder holds frames back until the end.
                for frame in stream.decode(None):
                    yield from _timed(encoder.encode(frame))
                yield from _timed(encoder.encode(None))


def _moved(packet: Packet, target: Any, origin: Fraction) -> Packet:
    """A packet for a stream of the output, whose second 0 is `origin` of the source."""
    earlier = round(origin / packet.time_base)
    packet.dts = None if packet.dts is None else packet.dts - earlier
    packet.pts = packet.dts if packet.pts is None else packet.pts - earlier
    packet.stream = target
    return packet


def _timed(packets: Iterable[Packet]) -> Sound:
    for packet in packets:
        yield float((packet.dts or 0) * packet.time_base), packet

"""Sound files of every kind, and the sound of films, as mono at 32 kHz, by PyAV.

What a file is, its content says, and not its name. It is read to the end of its data, whatever
length its header states. FFmpeg's filters keep the container's clock, fill its pauses and resample,
so that sample k lies k / 32,000 seconds behind the file's beginning. Files are read in blocks and a
window is found by seeking, so that hours cost no more memory than seconds.
"""

import itertools
import logging
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction

import av
import av.error
import numpy as np
from av import AudioFrame, Packet
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.filter import Graph
from av.stream import Disposition

from triptych.audio.data.sound_bytes import ByteRange, links, without_rest
from triptych.core.errors import InputError
from triptych.core.files import FFMPEG_FORMATS, not_a_file

logger = logging.getLogger(__name__)

SAMPLE_RATE = 32_000
"""Hz of everything behind the decoder: the rate at which PaSST was trained."""

OPTIONS = {
    "format_whitelist": FFMPEG_FORMATS,
    "protocol_whitelist": "none",
    "merge_pmt_versions": "1",
}
"""The last has broadcasts go on as the same tracks where their numbers change."""
SOUGHT = (
    "aiff",
    "au",
    "caf",
    "flac",
    "matroska,webm",
    "mov,mp4,m4a,3gp,3g2,mj2",
    "mp3",
    "w64",
    "wav",
)
"""Formats in which a jump lands where it should. Others are walked through, undecoded."""
BARE = ("aac", "ac3", "amr", "amrnb", "amrwb", "dts", "dtshd", "eac3", "mp3")
"""Formats without a clock of their own: packet follows packet, and FFmpeg counts them."""
WITHOUT_LENGTH = (*BARE, "avi", "mpeg", "mpegts", "ogg")
"""Formats whose length FFmpeg estimates, or reads from the last page."""
WITH_PAUSES = ("asf", "avi", "flv", "matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "mpeg", "mpegts")
"""Formats whose clock may pause. In others, what lies between two times is lost."""

RESAMPLER = "filter_size=160:cutoff=0.9565:exact_rational=1"
"""As steep as soxr's HQ: on 44.1 kHz of loud noises they differ by at most 0.003."""
WARM_UP_SECONDS = 0.25
"""How much of what precedes a window the resampler sees: many times the length of its filter."""
PADDING = 256
"""Frames of silence behind a sound, which the resampler would else think up."""
LONGEST_FILL_SECONDS = 10.0
"""Pauses that a filter fills hold as much memory; behind longer ones another graph begins."""
CODEC_SECONDS = 1.0
"""How much of what precedes that the decoder sees: its first frames behind a jump may be wrong."""
TOLERANCE_SECONDS = 0.1
"""Containers round their times, and clocks of recorders drift; more than this is a pause."""
EXACT_SECONDS = 0.001
"""FLAC counts its samples: where one frame is not there, it is damaged."""
LEAST_CUT_SECONDS = 0.5
"""What must be missing at a sound's end to be told: codecs pad it."""
LONGEST_PAUSE_SECONDS = {"mpeg": 10.0, "mpegts": 10.0, "": 6 * 3600.0}
"""By format, "" for all others; what is longer is a jump to another clock. Broadcasts jump between
programmes, and FFmpeg's commands count 10 s as a jump there.
"""
WITH_CHECKSUMS = ("flac", "wavpack")
"""Codecs whose packets can be checked."""
TAGS = (b"ID3", b"TAG", b"APETAGEX", b"Xing", b"Info", b"LYRICS")
"""Marks of what stands between the packets of MP3s, joined ones for instance, and is no sound."""
HEADER_BYTES = 1000
"""Between the packets of a sound that is alone in its file there are fewer."""
PATIENCE = 100
"""Packets in a row that may fail to be read before the rest is given up."""
LOWEST_RATE, HIGHEST_RATE = 1_000, 1_000_000
"""Hz of files that are read. Beyond, a header is damaged, or some bytes stand for hours."""
TRACK_SECONDS, SILENT_PEAK = 30.0, 1e-4
"""A track that is no louder for so long is silent, where there are others."""
UNHEARD = 1e-5
"""Share of a sound's power that resampling keeps at most of bats, all above 16 kHz."""
CHOICE_FRAMES = 3 * SAMPLE_RATE
"""By so much of a sound, once it isn't silent, it is chosen how its channels become one."""
OPPOSITE = 0.05
"""Share of two channels' power that a mean of opposite phases keeps at most, in an octave."""
AUDIBLE = 1e-4
"""Share of the loudest octave's power below which an octave says nothing."""
SILENT_POWER = 1e-10
"""Mean square of an octave, about what 16 bits round off, below which nothing is chosen yet."""


class AudioProblem(InputError):
    """A sound file that cannot be used, or not whole; the message says which and why."""


Source = str | os.PathLike[str] | ByteRange


def stream_audio(
    source: Source, start_seconds: float = 0.0, seconds: float | None = None
) -> Iterator[np.ndarray]:
    """Mono samples at 32 kHz of a file, or of `seconds` of it from `start_seconds` on.

    Block by block, each float32 [n], n > 0, for files larger than memory. What is damaged is
    silence; once all is read, AudioProblem is raised if something was missing, or whatever failed.
    """
    first = round(start_seconds * SAMPLE_RATE)
    remaining = math.inf if seconds is None else round(seconds * SAMPLE_RATE)
    try:
        with opened(source) as sound:
            for block in sound.blocks(first):
                window = block[: int(min(remaining, len(block)))]
                remaining -= len(window)
                if len(window):
                    yield window
                if remaining <= 0:
                    break
            if problem := sound.problem(ended=remaining > 0):
                raise AudioProblem(f"{sound.name}: {problem}")
    except Exception as error:  # a damaged file may raise anything
        if isinstance(error, AudioProblem) or _out_of_memory(error):
            raise
        name = "a shard's clip" if isinstance(source, ByteRange) else source
        raise AudioProblem(f"{name}: damaged, cannot be decoded ({_words(error)})") from error


def readable(blocks: Iterable[np.ndarray], problems: list[str]) -> Iterator[np.ndarray]:
    """Blocks of a sound as far as it can be read; why no farther goes into `problems`."""
    try:
        yield from blocks
    except AudioProblem as problem:
        problems.append(str(problem))


@contextmanager
def opened(source: Source) -> Iterator["Sound"]:
    """The sound in a file that players choose. Raises AudioProblem for a file that holds none."""
    name = "a shard's clip" if isinstance(source, ByteRange) else str(source)
    with ExitStack() as stack:
        if not isinstance(source, ByteRange):
            if odd := not_a_file(source):
                raise AudioProblem(f"{name}: {odd}")
            try:
                stream = stack.enter_context(open(source, "rb"))
            except OSError as error:
                raise AudioProblem(f"{name}: {_words(error)}") from error
            source = ByteRange(stream, 0, os.fstat(stream.fileno()).st_size)
        yield stack.enter_context(_opened(source, name))


@contextmanager
def _opened(stream: ByteRange, name: str) -> Iterator["Sound"]:
    whole, *others = links(stream)
    whole, stated_share = without_rest(whole)
    whole.seek(0)
    try:
        container = av.open(
            whole, "r", metadata_errors="replace", options=OPTIONS, buffer_size=1 << 17
        )
    except Exception as error:  # a damaged file may raise anything
        if _out_of_memory(error):
            raise
        raise AudioProblem(f"{name}: {_why_unreadable(stream, error)}") from error
    with container:
        streams = [one for one in container.streams.audio if one.codec_context is not None]
        if not streams:
            raise AudioProblem(f"{name}: holds no sound")
        played = max(streams, key=_preference)
        if len(streams) > 1 and (sounding := _sounding(whole)) and played.index not in sounding:
            silent = played.index
            played = max((one for one in streams if one.index in sounding), key=_preference)
            logger.warning("%s: track %d is silent; track %d is taken", name, silent, played.index)
        if not LOWEST_RATE <= played.codec_context.sample_rate <= HIGHEST_RATE:
            raise AudioProblem(
                f"{name}: {played.codec_context.sample_rate} samples a second; expected "
                f"{LOWEST_RATE} to {HIGHEST_RATE}"
            )
        yield Sound(name, container, played, stated_share, others)


def _sounding(source: ByteRange) -> set[int]:
    """Numbers of the tracks that aren't silent in a file's first seconds."""
    heard: set[int] = set()
    part = source.part(0, source.size)  # which another decoder reads from
    try:
        with av.open(part, "r", metadata_errors="replace", options=OPTIONS) as container:
            waiting = {one.index for one in container.streams.audio}
            for packet in container.demux(container.streams.audio):
                track = packet.stream_index
                for frame in packet.decode() if track in waiting else ():
                    assert isinstance(frame, AudioFrame)
                    if np.abs(_samples(frame)).max() > SILENT_PEAK:
                        heard.add(track)
                    if track in heard or (frame.time or 0.0) - _begins(container) > TRACK_SECONDS:
                        waiting.discard(track)
                if not waiting:
                    break
    except Exception as error:  # reading it will tell
        logger.debug("tracks cannot be compared: %s", error)
    return heard


def _samples(frame: AudioFrame) -> np.ndarray:
    """A frame's samples, of whatever format, as floats in [-1, 1]."""
    samples = frame.to_ndarray()
    if samples.dtype.kind == "f":
        return samples
    zero = np.float32(128 if samples.dtype.kind == "u" else 0)
    return (samples - zero) / np.float32(2 ** (8 * samples.dtype.itemsize - 1))


def _power(samples: np.ndarray) -> float:
    return float(np.vdot(samples, samples)) / max(1, samples.size)


def _preference(stream: AudioStream) -> int:
    """Which of a film's sounds players choose: the default one, no description for the blind."""
    described = Disposition.visual_impaired | Disposition.hearing_impaired | Disposition.comment
    disposition = stream.disposition
    return 2 * (not disposition & described) + bool(disposition & Disposition.default)


def _why_unreadable(stream: ByteRange, error: Exception) -> str:
    stream.seek(0)
    start = stream.read(40)
    if not start:
        return "an empty file (0 bytes)"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return f"not sound that can be read but a text, which begins {start.decode()!r}"
    return f"not sound that can be read: {_words(error)}"


def _out_of_memory(error: Exception) -> bool:
    """Whether the machine has no memory left; FFmpeg says so of a damaged header, too."""
    return isinstance(error, MemoryError) and not isinstance(error, av.error.FFmpegError)


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


class Sound:
    """A sound in an open file, read once.

    name: for messages; rate: Hz, as the header states it
    """

    def __init__(
        self,
        name: str,
        container: InputContainer,
        stream: AudioStream,
        stated_share: float,
        others: Sequence[ByteRange],
    ) -> None:
        self.name, self.container, self.stream = name, container, stream
        self._others = others
        self.rate: int = stream.codec_context.sample_rate
        self._format = container.format.name
        self._tick = float(stream.time_base or 0)
        self._begins = _begins(container)
        self._stated: float | None = None
        self._stated_share = stated_share  # of the bytes that are there
        if self._format not in (*WITHOUT_LENGTH, "wav"):
            if stream.duration is not None and stream.time_base is not None:
                self._stated = float(stream.duration * stream.time_base)
            elif len(container.streams) == 1 and container.duration is not None:
                self._stated = container.duration / 1e6
        if stream.codec_context.name in WITH_CHECKSUMS:
            stream.codec_context.options = {"err_detect": "crccheck+explode"}
        # Seconds: of the file where the next sample lies; what the container's clock is off since
        # it went back; what is missing, where first, and what failed since the last frame, if
        # something did.
        self._end = self._shift = self._missing = self._first_missing = 0.0
        self._failed: float | None = None
        self._chosen: int | None = None  # the channel that is taken, -1: their mean
        self._told_numbers = False
        self._energy, self._energy_heard = 0.0, 0.0  # mean squares times seconds
        self._located, self._unread, self._reason = True, False, ""

    def blocks(self, first: int) -> Iterator[np.ndarray]:
        """Mono float32 [n] at 32 kHz from a sample on."""
        held: list[np.ndarray] = []
        for block in itertools.chain(self._filled(first), [None]):
            held += [] if block is None else [block]
            if self._chosen is None:
                if block is not None and sum(part.shape[1] for part in held) < CHOICE_FRAMES:
                    continue
                self._choose(held)
            yield from map(self._mono, held)
            held = []
        for link in self._others:
            ends = round(self._end * SAMPLE_RATE)
            with _opened(link, self.name) as following:
                yield from following.blocks(max(0, first - ends))
                if following._missing and not self._missing:
                    self._first_missing = self._end + following._first_missing
                self._missing += following._missing
                self._end += following._end

    def _filled(self, first: int) -> Iterator[np.ndarray]:
        """float32 [C, n] at 32 kHz from a sample on, silence [1, n] where nothing is."""
        position = first
        for begin, channels in self._resampled(first):
            for left in range(begin - position, 0, -SAMPLE_RATE):
                yield np.zeros((1, min(left, SAMPLE_RATE)), np.float32)
            late = max(0, position - begin)
            if late < channels.shape[1]:
                if self._energy:
                    self._energy_heard += channels.shape[1] / SAMPLE_RATE * _power(channels)
                yield self._numbers(channels[:, late:])
                position = begin + channels.shape[1]

    def _numbers(self, channels: np.ndarray) -> np.ndarray:
        if (finite := np.isfinite(channels)).all():
            return channels
        if not self._told_numbers:
            logger.warning("%s: some samples are no numbers; silence is there", self.name)
            self._told_numbers = True
        return np.where(finite, channels, np.float32(0))

    def _choose(self, blocks: Sequence[np.ndarray]) -> None:
        """Choose how channels become one, by seconds of them; not yet where they are silent."""
        several = [block for block in blocks if len(block) == max(map(len, blocks))]
        if not several or len(several[0]) == 1:
            return
        if self.stream.layout.name.startswith("ambisonic"):
            self._chosen = 0  # the others are directions
            return
        self._chosen = cancelled(several)
        if self._chosen is not None and self._chosen >= 0:
            logger.warning("%s: its channels cancel each other; the loudest is taken", self.name)

    def _mono(self, channels: np.ndarray) -> np.ndarray:
        """The mean [n] of channels [C, n], or the chosen one."""
        chosen = -1 if self._chosen is None else self._chosen
        mono: np.ndarray = channels.mean(axis=0) if len(channels) > 1 else channels[0]
        return channels[chosen] if 0 <= chosen < len(channels) else mono

    def problem(self, ended: bool) -> str:
        """Describe what is missing, or return ""; ended: the sound was read to its end."""
        if ended and self._energy_heard < UNHEARD * self._energy:
            logger.warning("%s: silent, for all of its sound lies above 16 kHz", self.name)
        if ended and not self._end:
            return f"holds no samples{self._reason}"
        whole = max(self._stated or 0.0, self._stated_share * self._end)
        whole = max(whole, self._end + (self._failed or 0.0))
        cut = whole - self._end if ended else 0.0
        least = EXACT_SECONDS if self._format == "flac" else LEAST_CUT_SECONDS
        if self._missing:
            missing = self._missing + (cut if cut > least else 0.0)
            return (
                f"damaged, {missing:.2f} s of {whole:.1f} s are missing, the first from "
                f"{self._first_missing:.1f} s on{self._reason}; fetch it again"
            )
        if cut > least:
            return f"truncated, {self._end:.1f} s of {whole:.1f} s are there; fetch it again"
        if ended and self._unread:
            return f"damaged after {self._end:.1f} s{self._reason}; fetch it again"
        return ""

    def _resampled(self, first: int) -> Iterator[tuple[int, np.ndarray]]:
        """Numbers of samples at 32 kHz, and float32 [C, n] from there on; pauses may lie between.

        The clock is FFmpeg's: a graph of its filters for as long as frames are of one kind.
        """
        graph: Graph | None = None
        kind, reached = None, -math.inf
        frames = itertools.chain(self._frames(first / SAMPLE_RATE), [(None, None)])
        for (frame, failed), (following, _) in itertools.pairwise(frames):
            assert frame is not None
            time, lasts = _seconds_of(frame), frame.samples / frame.sample_rate
            later = None if following is None else _seconds_of(following)
            steady = (
                time is not None
                and later is not None
                and abs(later - time - lasts) <= TOLERANCE_SECONDS
            )
            self._end += self._pause(time, failed, steady)
            own = (frame.format.name, frame.sample_rate, frame.layout.name)
            if graph is None or own != kind or self._end - reached > LONGEST_FILL_SECONDS:
                if graph is not None:
                    yield from _pulled(graph, reached)
                start = max(first, round(self._end * SAMPLE_RATE))
                graph, kind = _graph(*own, start), own
            frame.pts = round(self._end * frame.sample_rate)
            frame.time_base = Fraction(1, frame.sample_rate)
            reached = self._end = self._end + lasts
            if frame.sample_rate > SAMPLE_RATE and not first:
                self._energy += lasts * _power(_samples(frame))
            graph.push(frame)
            yield from _pulled(graph)
        if graph is not None:
            yield from _pulled(graph, reached)

    def _pause(self, time: float | None, failed: float | None, steady: bool = True) -> float:
        """Seconds of silence in front of what begins at `time` of the container's clock.

        failed: seconds that were not decoded before; steady: the clock goes on as the sound does
        from there, else a pause waits for a time to be believed.
        """
        ahead = 0.0 if time is None else time - self._begins + self._shift - self._end
        longest = LONGEST_PAUSE_SECONDS.get(self._format, LONGEST_PAUSE_SECONDS[""])
        if not -TOLERANCE_SECONDS <= ahead <= longest:  # another clock
            self._shift -= ahead
            ahead = 0.0
        if not self._located:  # decoders begin a packet or two behind a jump
            self._located = True
            return ahead
        least = EXACT_SECONDS if self._format == "flac" else TOLERANCE_SECONDS
        if failed is None and (ahead < least or not steady):
            return 0.0
        lost = max(ahead, failed or 0.0)
        if lost > 0 and (failed is not None or self._format not in WITH_PAUSES):
            self._first_missing = self._first_missing if self._missing else self._end
            self._missing += lost
        return max(ahead, 0.0)

    def _frames(self, begin: float) -> Iterator[tuple[AudioFrame, float | None]]:
        """Decoded frames from about `begin` on, and seconds that failed before each."""
        early, walking = begin - CODEC_SECONDS, True
        packets = self._packets()
        codec = self.stream.codec_context.name
        exact = self._format in SOUGHT and (self._format == "mp3" or not codec.startswith("mp"))
        if early > 0 and exact and early < (self._stated or math.inf):
            self.container.seek(round((self._begins + early) * 1e6))
            packet = next(packets, None)
            if packet is None or packet.pts is None or self._time(packet) > early:
                self.container.seek(round(self._begins * 1e6))  # it landed behind a pause
            else:
                self._end = self._time(packet)
                packets = itertools.chain([packet], packets)
        for packet in packets:
            duration = (packet.duration or 0) * self._tick
            walking = walking and packet.pts is not None
            if walking and self._time(packet) + self._shift + duration < early:
                failed, self._failed = self._failed, None
                self._end += self._pause(self._time(packet) + self._begins, failed) + duration
                self._located = False
                continue
            walking = False
            try:
                for frame in self.stream.decode(packet):
                    failed, self._failed = self._failed, None
                    yield frame, failed
            except av.error.EOFError:
                return
            except Exception as error:
                data = bytes(packet)
                if self._format in BARE:  # whatever lies between two marks is a packet
                    sound = len(data) - data.count(0)
                    duration = 8 * sound / (self.stream.bit_rate or math.inf)
                if self._format not in BARE or not any(mark in data for mark in TAGS):
                    self._failed = (self._failed or 0.0) + duration
                    self._reason = f" ({_words(error)})"

    def _time(self, packet: Packet) -> float:
        """Seconds behind the sound's beginning by the container's clock."""
        return (packet.pts or 0) * self._tick - self._begins

    def _packets(self) -> Iterator[Packet]:
        """The stream's packets; behind a place that can't be read it is tried to go on."""
        packets, failures, reached = self.container.demux(self.stream), 0, None
        dense = len(self.container.streams) == 1 and self._format in ("flv", "matroska,webm")
        while failures < PATIENCE:
            try:
                packet = next(packets, None)
            except IndexError:  # of PyAV, behind the last packet, where tracks appeared on the way
                return
            except Exception as error:
                self._failed, self._unread = self._failed or 0.0, True
                self._reason = f" ({_words(error)})"
                packets, failures = self.container.demux(self.stream), failures + 1
                continue
            if packet is None:
                return
            failures, self._unread = 0, False
            if packet.pos is not None and packet.size:
                if dense and reached and packet.pos - reached > HEADER_BYTES:
                    self._failed = self._failed or 0.0  # not a pause: bytes are passed over
                reached = packet.pos + packet.size
            yield packet


def cancelled(blocks: Sequence[np.ndarray]) -> int | None:
    """The loudest of channels [C, n] whose mean is silent; -1 where it isn't, None for silence.

    It is by octaves above 100 Hz: neither an offset nor hum in phase hides what is lost.
    """
    count, width = len(blocks[0]), 1 << 14
    octaves = np.digitize(np.fft.rfftfreq(width, 1 / SAMPLE_RATE), [100 * 2**n for n in range(8)])
    powers, frames = np.zeros((count + 1, 9)), sum(block.shape[1] for block in blocks)
    samples = np.concatenate(blocks, axis=1)
    for first in range(0, frames, width):
        part = samples[:, first : first + width]
        part = (part - part.mean(axis=1, keepdims=True)) * np.hanning(part.shape[1])
        for row, channel in enumerate((*part, part.mean(axis=0))):
            spectrum = np.square(np.abs(np.fft.rfft(channel, width)))
            powers[row] += np.bincount(octaves, spectrum, 9)
    powers = powers[:, 1:] / (width * frames)
    own, mono = powers[:-1].mean(axis=0), powers[-1]
    if own.max() <= SILENT_POWER:
        return None
    audible = own > AUDIBLE * own.max()
    lost = mono[audible] < OPPOSITE * 2 / count * own[audible]
    return int(powers[:-1].sum(axis=1).argmax()) if lost.mean() > 0.5 else -1


def _seconds_of(frame: AudioFrame) -> float | None:
    """A frame's time by its container's clock."""
    return None if frame.pts is None else frame.time


def _begins(container: InputContainer) -> float:
    """Seconds of the container's clock at which its first sound or picture begins."""
    streams = [*container.streams.audio, *container.streams.video]
    starts = [
        float(stream.start_time * stream.time_base)
        for stream in streams
        if not stream.disposition & Disposition.attached_pic
        and stream.start_time is not None
        and stream.time_base is not None
    ]
    return min(starts, default=0.0)


def _graph(form: str, rate: int, layout: str, start: int) -> Graph:
    """FFmpeg's filters between frames of one kind and 32 kHz, whose memory begins before a sample.

    Pauses are filled with silence. A place where an input sample lies on one of 32 kHz is the
    clock's beginning, so that a window has the samples of the whole.
    """
    divisor = math.gcd(rate, SAMPLE_RATE)
    steps = (start - round(WARM_UP_SECONDS * SAMPLE_RATE)) // (SAMPLE_RATE // divisor)
    begins = steps * (rate // divisor)
    graph = Graph()
    graph.link_nodes(
        graph.add_abuffer(sample_rate=rate, format=form, layout=layout),
        graph.add("atrim", f"start_pts={begins}"),
        graph.add("apad", f"pad_len={PADDING}"),
        graph.add(
            "aresample",
            f"{SAMPLE_RATE}:async=1:min_hard_comp={EXACT_SECONDS}:first_pts={begins}:{RESAMPLER}",
        ),
        graph.add("aformat", "fltp"),
        graph.add("abuffersink"),
    ).configure()
    return graph


def _pulled(graph: Graph, end: float = 0.0) -> Iterator[tuple[int, np.ndarray]]:
    """What a graph has ready, with numbers of samples; end: seconds of where its sound ends."""
    if end:
        graph.push(None)
    while True:
        try:
            frame = graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
        assert isinstance(frame, AudioFrame)
        there = round(end * SAMPLE_RATE) - (frame.pts or 0) if end else frame.samples
        if there > 0:  # else the padding
            yield frame.pts or 0, frame.to_ndarray()[:, :there]

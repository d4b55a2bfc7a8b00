"""Tiny videos for tests, written by PyAV with every time said outright."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

from triptych.style.video.transfer import stylise_to_mp4

MILLISECONDS = Fraction(1, 1000)
UNEVEN = (0, 40, 75, 140, 160, 240, 300, 310, 420, 470, 500, 590)


@dataclass(frozen=True)
class Clip:
    """Frame k appears `starts[k]` ticks of `tick` seconds in and the last one lasts `last`."""

    starts: Sequence[int] = tuple(range(12))
    tick: Fraction = Fraction(1, 24)
    last: int = 1
    width: int = 64
    height: int = 48
    fps: Fraction = Fraction(24)
    codec: str = "libx264"
    sounds: tuple[str, ...] = ()
    aspect: Fraction = Fraction(1)
    rotation: int = 0
    container: tuple[tuple[str, str], ...] = ()

    def seconds(self) -> list[Fraction]:
        return [start * self.tick for start in self.starts]


def picture(number: int, width: int, height: int) -> np.ndarray:
    """A bright square on a gradient; both move with the frame's number."""
    rows, columns = np.mgrid[:height, :width]
    frame = np.stack([rows * 3 + number * 5, columns * 3, 90 + 0 * rows], -1).clip(0, 255)
    left = 3 * number
    frame[8:20, left : left + 12] = (230, 200, 40)
    return frame.astype(np.uint8)


def write_clip(path: Path, clip: Clip) -> Path:
    odd = clip.width % 2 or clip.height % 2
    with av.open(str(path), "w", options=dict(clip.container)) as file:
        stream = file.add_stream(clip.codec, rate=clip.fps)
        stream.width, stream.height = clip.width, clip.height
        plain = "yuvj420p" if clip.codec == "mjpeg" else "yuv420p"
        stream.pix_fmt = "yuv444p" if odd else plain
        stream.codec_context.time_base = stream.time_base = clip.tick
        stream.codec_context.sample_aspect_ratio = clip.aspect
        if clip.rotation:
            stream.set_display_rotation(clip.rotation)
        voices = [file.add_stream(name, rate=48_000, layout="stereo") for name in clip.sounds]
        packets = []
        for number, start in enumerate(clip.starts):
            frame = av.VideoFrame.from_ndarray(picture(number, clip.width, clip.height), "rgb24")
            frame.pts, frame.time_base = start, clip.tick
            packets += stream.encode(frame)
        packets += stream.encode(None)
        packets[-1].duration = clip.last
        for packet in packets:
            file.mux(packet)
        for voice in voices:
            seconds = float((clip.starts[-1] + clip.last) * clip.tick)
            for first in range(0, round(48_000 * seconds), 960):
                time = (first + np.arange(960)) / 48_000
                wave = 0.4 * np.sin(2 * np.pi * 440 * time * (1 + time)).astype(np.float32)
                frame = av.AudioFrame.from_ndarray(np.stack([wave, wave]), "fltp", "stereo")
                frame.sample_rate, frame.pts = 48_000, first
                frame.time_base = Fraction(1, 48_000)
                for packet in voice.encode(frame):
                    file.mux(packet)
            for packet in voice.encode(None):
                file.mux(packet)
    return path


def write_stream(path: Path, codec: str, frames: Sequence, **context: object) -> Path:
    """Frames, of PyAV, RGB or grey, as a film of 25 frames a second, with attributes of its
    encoder."""
    options = context.pop("options", {})
    forms = {(3, 1): "rgb24", (2, 1): "gray", (2, 2): "gray10le"}
    frames = [
        frame
        if isinstance(frame, av.VideoFrame)
        else av.VideoFrame.from_ndarray(frame, forms[frame.ndim, frame.itemsize])
        for frame in frames
    ]
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=25, options=options)
        stream.width, stream.height = frames[0].width, frames[0].height
        for name, value in {"pix_fmt": "yuv420p", **context}.items():
            setattr(stream.codec_context, name, value)
        for frame in (*frames, None):
            file.mux(stream.encode(frame))
    return path


def same(frames: np.ndarray) -> np.ndarray:
    return frames


def made(folder: Path, source: Path, stylist: Callable = same, batch: int = 5) -> Path:
    """The source as it is stylised."""
    stylise_to_mp4(source, folder / "video.mp4", stylist, batch)
    return folder / "video.mp4"


def decoded(path: Path) -> tuple[list[np.ndarray], list[Fraction]]:
    """Every frame and its time, by PyAV."""
    with av.open(str(path)) as file:
        frames = list(file.decode(video=0))
        return (
            [frame.to_ndarray(format="rgb24") for frame in frames],
            [frame.pts * frame.time_base for frame in frames],
        )


def decoded_by_opencv(path: Path) -> list[np.ndarray]:
    capture, frames = cv2.VideoCapture(str(path)), []
    while True:
        found, frame = capture.read()
        if not found:
            return frames
        frames.append(np.ascontiguousarray(frame[..., ::-1]))


def sound_packets(path: Path, number: int = 0) -> list[tuple[Fraction, bytes]]:
    with av.open(str(path)) as file:
        stream = file.streams.audio[number]
        return [
            (packet.pts * packet.time_base, bytes(packet))
            for packet in file.demux(stream)
            if packet.dts is not None
        ]


def sound_wave(path: Path) -> np.ndarray:
    """The first channel, float32."""
    with av.open(str(path)) as file:
        resampler = av.AudioResampler("fltp", "stereo", 48_000)
        parts = [part for frame in file.decode(audio=0) for part in resampler.resample(frame)]
        return np.concatenate([part.to_ndarray()[0] for part in parts])

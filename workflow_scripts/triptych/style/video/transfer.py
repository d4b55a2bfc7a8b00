"""Stylising videos: decoding, network and encoding side by side.

OpenCV reads the frames, batches of them go through the network, and rate, size, number and times
of the frames are kept (section IV-B 11 of the paper). Between rules frames are lossless; the
finished video is H.264 with the source's sound.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.progress import Progress
from triptych.style.video.info import VideoInfo, probe
from triptych.style.video.reading import read_batches, read_frames
from triptych.style.video.sound import sound_of
from triptych.style.video.writing import VideoWriter

if TYPE_CHECKING:
    import torch

    from triptych.style.network.network import TransformationNetwork

logger = logging.getLogger(__name__)

Stylist = Callable[[np.ndarray], np.ndarray]
"""uint8 [n, H, W, 3] RGB frames to as many stylised ones of the same size."""

Taken = TypeVar("Taken")
Made = TypeVar("Made")

WAITING = 2
"""Batches that wait before the network, and behind it."""


@dataclass(frozen=True)
class Stylised:
    """What came of a video: frames written, frames that its header promised, seconds it took."""

    frames: int
    expected: int
    seconds: float


def network_stylist(
    network: "TransformationNetwork", device: "torch.device", precision: str = "float32"
) -> Stylist:
    """A stylist by a transformation network; frames cross to the device and back as bytes.

    precision: a name, or "auto", checked on the first frame.
    """
    import torch

    from triptych.style.network.fast import PreparedNetwork
    from triptych.style.network.stylize import checked_precision, stylise

    network = network.to(device).eval()
    ready: list[PreparedNetwork] = []  # once the first frame has been seen

    def stylist(frames: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            images = torch.from_numpy(frames).to(device).permute(0, 3, 1, 2).float() / 255
            if not ready:
                chosen = checked_precision(network, images[0], precision)
                ready.append(PreparedNetwork(network, chosen))
            styled = (stylise(ready[0], images) * 255).round().to(torch.uint8)
            return styled.permute(0, 2, 3, 1).contiguous().cpu().numpy()

    return stylist


def stylise_video(
    source: str | Path,
    frames_path: str | Path,
    stylist: Stylist,
    batch: int = 8,
    *,
    times_path: str | Path,
) -> Stylised:
    """Stylise each frame of `source` into lossless `frames_path` (.mkv, FFV1).

    `times_path` gets one row a frame: frame, source_frame, start and duration in ticks, time_base
    (seconds a tick), seconds. Matroska itself rounds times to milliseconds. Both files appear when
    they are whole. A truncated video is stylised as far as it can be read, with a warning; raises
    InputError when no frame can be read.
    """
    info = probe(source)
    with ExitStack() as stack:
        frames_temporary = stack.enter_context(atomic_path(frames_path))
        times_temporary = stack.enter_context(atomic_path(times_path))
        writer = VideoWriter(
            frames_temporary,
            "ffv1",
            (info.height, info.width),
            info.fps,
            info.times.time_base,
            pixel_aspect=info.pixel_aspect,
        )
        numbers, seconds = _run(info, writer, stylist, batch)
        _times_table(info, numbers).to_csv(times_temporary, index=False)
    return _report(info, numbers, seconds)


def stylise_to_mp4(
    source: str | Path, target: str | Path, stylist: Stylist, batch: int = 8
) -> Stylised:
    """Stylise `source` straight into an mp4 with its sound, without lossless frames between.

    Otherwise as `stylise_video` and `encode`.
    """
    import av

    info = probe(source)
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(target))
        opened = stack.enter_context(av.open(str(source), metadata_errors="replace"))
        writer = VideoWriter(
            temporary,
            "h264",
            (info.height, info.width),
            info.fps,
            info.times.time_base,
            pixel_aspect=info.pixel_aspect,
            sound=sound_of(opened),
        )
        numbers, seconds = _run(info, writer, stylist, batch)
    return _report(info, numbers, seconds)


def encode(
    frames_path: str | Path,
    times_path: str | Path,
    source: str | Path,
    target: str | Path,
    crf: int = 18,
) -> None:
    """Frames of `stylise_video` as H.264 mp4 at their exact times, with the sound of `source`.

    `crf` is x264's constant rate factor: 0 is lossless, 18 hard to tell from the frames, 23 its
    default. Sound is copied packet by packet where mp4 takes its codec.
    """
    import av

    frames, times = probe(frames_path), pd.read_csv(times_path)
    if frames.frames != len(times):
        raise InputError(
            f"{frames_path} holds {frames.frames} frames, but {times_path} tells the times of "
            f"{len(times)}; make both anew"
        )
    numerator, denominator = str(times["time_base"].iloc[0]).split("/")
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(target))
        opened = stack.enter_context(av.open(str(source), metadata_errors="replace"))
        progress = stack.enter_context(Progress("encoded", len(times), "frames"))
        writer = stack.enter_context(
            VideoWriter(
                temporary,
                "h264",
                (frames.height, frames.width),
                frames.fps,
                Fraction(int(numerator), int(denominator)),
                pixel_aspect=frames.pixel_aspect,
                crf=crf,
                sound=sound_of(opened),
            )
        )
        for frame, number in read_frames(frames):
            writer.write(frame, int(times["start"].iloc[number]))
            progress.advance()
        writer.finish(int(times["start"].iloc[-1] + times["duration"].iloc[-1]))


def overlapped(
    source: Iterable[Taken], transform: Callable[[Taken], Made], sink: Callable[[Made], None]
) -> None:
    """Give `transform(item)` for each item of `source`, in order, to `sink`.

    Source and sink run in a thread each, the transformation in the caller's; at most WAITING
    items wait on either side of it. The exception of the first stage that fails is raised.
    """
    items, end = iter(source), object()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        ahead: deque[Future] = deque(reader.submit(next, items, end) for _ in range(WAITING))
        behind: deque[Future] = deque()
        while (item := ahead.popleft().result()) is not end:
            ahead.append(reader.submit(next, items, end))
            behind.append(writer.submit(sink, transform(item)))
            if len(behind) > WAITING:
                behind.popleft().result()
        for each in behind:
            each.result()


def _run(
    info: VideoInfo, writer: VideoWriter, stylist: Stylist, batch: int
) -> tuple[list[int], float]:
    """Read, stylise and write; the source's numbers of the frames written, and the seconds."""
    written: list[int] = []
    began = time.monotonic()

    def stylised(batch_of: tuple[np.ndarray, list[int]]) -> tuple[np.ndarray, list[int]]:
        frames, numbers = batch_of
        result = stylist(frames)
        if result.shape != frames.shape or result.dtype != np.uint8:
            raise ValueError(
                f"the stylist made {result.dtype} {list(result.shape)} "
                f"of uint8 {list(frames.shape)}"
            )
        return result, numbers

    with writer, Progress("stylised", info.frames, "frames") as progress:

        def write(batch_of: tuple[np.ndarray, list[int]]) -> None:
            for frame, number in zip(*batch_of, strict=True):
                writer.write(frame, info.times.start(number))
                written.append(number)
            progress.advance(len(batch_of[1]))

        overlapped(read_batches(info, batch), stylised, write)
        writer.finish(info.times.start(written[-1] + 1))
    return written, time.monotonic() - began


def _times_table(info: VideoInfo, numbers: list[int]) -> pd.DataFrame:
    """A row a frame; one that follows on frames that could not be read is preceded by a longer."""
    times = info.times
    starts = np.array([times.start(number) for number in numbers], np.int64)
    ends = np.append(starts[1:], times.start(numbers[-1] + 1))
    return pd.DataFrame(
        {
            "frame": np.arange(len(numbers)),
            "source_frame": numbers,
            "start": starts,
            "duration": ends - starts,
            "time_base": f"{times.time_base.numerator}/{times.time_base.denominator}",
            "seconds": starts * float(times.time_base),
        }
    )


def _report(info: VideoInfo, numbers: list[int], seconds: float) -> Stylised:
    expected = max(info.frames_stated, info.frames)
    if len(numbers) < expected:
        logger.warning(
            "%s promises %d frames, but only %d could be read; the rest is missing in the result",
            info.path,
            expected,
            len(numbers),
        )
    return Stylised(len(numbers), expected, seconds)

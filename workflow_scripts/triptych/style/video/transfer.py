"""Stylising videos: decoding, network and encoding side by side (section IV-B 11 of the paper);
and a stylised video's properties, and speed."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.progress import Progress
from triptych.style.video.info import (
    VideoInfo,
    open_video,
    probe,
    read_batches,
    read_frames,
)
from triptych.style.video.sound import sound_of
from triptych.style.video.writing import Codec, VideoWriter

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from triptych.style.network.network import TransformationNetwork

logger = logging.getLogger(__name__)

Stylist = Callable[[np.ndarray], np.ndarray]
"""uint8 [n, H, W, 3] RGB frames to as many stylised ones of the same size."""

Taken = TypeVar("Taken")
Made = TypeVar("Made")

WAITING = 2
"""Batches that wait before the network, and behind it."""


def network_stylist(
    network: "TransformationNetwork", device: "torch.device", precision: str = "float32"
) -> Stylist:
    """A stylist by a transformation network; frames cross to the device and back as bytes.

    precision: a name, or "auto", checked on the first frame.
    """
    from triptych.style.network.fast import PreparedNetwork
    from triptych.style.network.stylize import checked_precision, stylise

    network = network.to(device).eval()
    ready: list[PreparedNetwork] = []  # once the first frame has been seen

    def render(images: "Tensor") -> "Tensor":
        if not ready:
            chosen = checked_precision(network, images[0], precision)
            ready.append(PreparedNetwork(network, chosen))
        return stylise(ready[0], images)

    return stylist_of(render, device)


def stylist_of(render: Callable[["Tensor"], "Tensor"], device: "torch.device") -> Stylist:
    """Stylist of a function that paints images [n, 3, H, W] in [0, 1] on the device."""
    import torch

    from triptych.style.data.images import to_bytes

    def stylist(frames: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            images = torch.from_numpy(frames).to(device).permute(0, 3, 1, 2).float() / 255
            rendered = to_bytes(render(images)).permute(0, 2, 3, 1)
            return rendered.contiguous().cpu().numpy()

    return stylist


def stylise_video(
    source: str | Path,
    frames_path: str | Path,
    stylist: Stylist,
    batch: int = 8,
    *,
    times_path: str | Path,
) -> None:
    """Stylise each frame of `source` into lossless `frames_path` (.mkv, FFV1).

    `times_path` gets one row a frame: frame, source_frame, start and duration in ticks, time_base
    (seconds a tick), seconds, since Matroska rounds times to milliseconds. A truncated video is
    stylised as far as it can be read, with a warning; raises InputError when no frame can be read.
    """
    info = probe(source)
    with ExitStack() as stack:
        frames_temporary = stack.enter_context(atomic_path(frames_path))
        times_temporary = stack.enter_context(atomic_path(times_path))
        writer = _writer(frames_temporary, "ffv1", info, info.times.time_base)
        numbers = _run(info, writer, stylist, batch)
        _times_table(info, numbers).to_csv(times_temporary, index=False)


def stylise_to_mp4(
    source: str | Path, target: str | Path, stylist: Stylist, batch: int = 8
) -> None:
    """Stylise `source` straight into an mp4 with its sound, without lossless frames between."""
    info = probe(source)
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(target))
        sound = sound_of(stack.enter_context(open_video(source)), info.origin)
        writer = _writer(temporary, "h264", info, info.times.time_base, sound=sound)
        _run(info, writer, stylist, batch)


def encode(
    frames_path: str | Path,
    times_path: str | Path,
    source: str | Path,
    target: str | Path,
    crf: int = 18,
) -> None:
    """Frames of `stylise_video` as H.264 mp4 at their exact times, with the sound of `source`.

    `crf` is x264's constant rate factor: 0 is lossless, 18 hard to tell from the frames.
    """
    frames, times = probe(frames_path), pd.read_csv(times_path)
    if frames.frames != len(times):
        raise InputError(
            f"{frames_path} has {frames.frames} frames and {times_path} {len(times)} times; delete "
            "both to make them again"
        )
    numerator, denominator = str(times["time_base"].iloc[0]).split("/")
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(target))
        opened = stack.enter_context(open_video(source))
        progress = stack.enter_context(Progress("encoded", len(times), "frames"))
        tick = Fraction(int(numerator), int(denominator))
        film = probe(source)
        sound = sound_of(opened, film.origin)
        # Matroska's frames have lost the pixels' aspect.
        shown = replace(frames, pixel_aspect=film.pixel_aspect)
        writer = _writer(temporary, "h264", shown, tick, crf=crf, sound=sound)
        stack.enter_context(writer)
        for frame, number in read_frames(frames):
            writer.write(frame, int(times["start"].iloc[number]))
            progress.advance()
        writer.finish(int(times["start"].iloc[-1] + times["duration"].iloc[-1]))


def overlapped(
    source: Iterable[Taken], transform: Callable[[Taken], Made], sink: Callable[[Made], None]
) -> None:
    """Give `transform(item)` for each item of `source`, in order, to `sink`; source and sink run in
    a thread each, and at most WAITING items wait on either side of the transformation."""
    items, end = iter(source), object()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as writer:
        ahead: deque[Future] = deque(reader.submit(next, items, end) for _ in range(WAITING))
        behind: deque[Future] = deque()
        while (item := ahead.popleft().result()) is not end:
            ahead.append(reader.submit(next, items, end))
            behind.append(writer.submit(sink, transform(item)))
            if len(behind) > WAITING:
                behind.popleft().result()
        for waiting in behind:
            waiting.result()


def _writer(
    path: Path, codec: Codec, info: VideoInfo, tick: Fraction, **settings: Any
) -> VideoWriter:
    size = (info.height, info.width)
    return VideoWriter(
        path, codec, size, info.fps, tick, pixel_aspect=info.pixel_aspect, **settings
    )


def _run(info: VideoInfo, writer: VideoWriter, stylist: Stylist, batch: int) -> list[int]:
    """Read, stylise and write; the source's numbers of the frames written."""
    written: list[int] = []
    with writer, Progress("stylised", info.frames, "frames") as progress:

        def write(batch_of: tuple[np.ndarray, list[int]]) -> None:
            for frame, number in zip(*batch_of, strict=True):
                writer.write(frame, info.times.start(number))
                written.append(number)
            progress.advance(len(batch_of[1]))

        overlapped(read_batches(info, batch), lambda of: (stylist(of[0]), of[1]), write)
        writer.finish(info.times.start(written[-1] + 1))
    expected = max(info.frames_stated, info.frames)
    if len(written) < expected:
        logger.warning(
            "%s promises %d frames, but only %d could be read; the rest (%.1f s) is missing in the "
            "result",
            info.path,
            expected,
            len(written),
            (expected - len(written)) / info.fps,
        )
    return written


def _times_table(info: VideoInfo, numbers: list[int]) -> pd.DataFrame:
    """A row a frame; one before frames that could not be read lasts until the next that could."""
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


def properties(files: Mapping[str, str | Path]) -> pd.DataFrame:
    """Properties of each file, by its name in the table, when read back; one row a file. `frames`
    are those that can be decoded, `frames_stated` what the header promises."""
    rows = []
    for name, path in files.items():
        info = probe(path)
        codec, seconds = info.sound or ("", None)
        frames, variable = sum(1 for _ in read_frames(info)), str(info.variable).lower()
        picture = (name, float(info.fps), frames, info.width, info.height)
        heard = None if seconds is None else round(seconds, 6)
        lasts = (round(float(info.duration), 6), variable, codec, heard, info.frames_stated)
        rows.append((*picture, *lasts))
    return pd.DataFrame(rows, columns=PROPERTIES)


PROPERTIES = [
    *("file", "frames_per_second", "frames", "width", "height", "duration_seconds"),
    *("variable_frame_times", "audio_codec", "audio_seconds", "frames_stated"),
]


def frame_speeds(
    source: str | Path,
    stylist: Stylist,
    *,
    batches: Sequence[int],
    repeats: int,
    frames: int,
) -> pd.DataFrame:
    """Frames per second of the stylist on the first `frames` frames, by batch size.

    Only the stylist is timed, from memory to memory. Each repeat runs all sizes in turn, every
    other one backwards; a round before them warms up.
    """
    info = probe(source)
    taken, _ = next(read_batches(info, frames))
    rows = []
    for repeat in range(-1, repeats):
        for batch in list(batches)[:: 1 if repeat % 2 == 0 else -1]:
            began = time.perf_counter()
            for first in range(0, len(taken), batch):
                stylist(taken[first : first + batch])
            seconds = time.perf_counter() - began
            if repeat >= 0:
                rows.append((batch, repeat, len(taken), seconds, len(taken) / seconds))
    columns = ["batch", "repeat", "frames", "seconds", "frames_per_second"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(["batch", "repeat"], ignore_index=True)

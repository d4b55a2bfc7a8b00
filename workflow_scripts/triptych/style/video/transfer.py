"""Stylising videos: decoding, network and encoding side by side (section IV-B 11 of the paper);
and a stylised video's properties, and speed."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.files import atomic_path
from triptych.core.progress import Progress
from triptych.style.data.images import to_bytes
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.stylize import checked_precision, stylise
from triptych.style.video.completeness import missing_part
from triptych.style.video.frames import read_batches, read_frames
from triptych.style.video.info import VideoInfo, probe
from triptych.style.video.sound import sound_of
from triptych.style.video.writing import VideoWriter

Stylist = Callable[[np.ndarray], np.ndarray]
"""uint8 [n, H, W, 3] RGB frames to as many stylised ones of the same size."""

Taken = TypeVar("Taken")
Made = TypeVar("Made")

BATCH_PIXELS = 2**23
"""Pixels of a batch, at most, unless a frame has more: a film of 3840x2160 goes frame by frame."""

WAITING = 2
"""Batches that wait before the network, and behind it."""


def network_stylist(
    network: TransformationNetwork, device: torch.device, precision: str = "float32"
) -> Stylist:
    """A stylist by a transformation network; frames cross to the device and back as bytes.

    precision: a name, or "auto", checked on the first frame.
    """
    network = network.to(device).eval()
    ready: list[PreparedNetwork] = []  # once the first frame has been seen

    def render(images: Tensor) -> Tensor:
        if not ready:
            chosen = checked_precision(network, images[0], precision)
            ready.append(PreparedNetwork(network, chosen))
        return stylise(ready[0], images)

    return stylist_of(render, device)


def stylist_of(render: Callable[[Tensor], Tensor], device: torch.device) -> Stylist:
    """Stylist of a function that paints images [n, 3, H, W] in [0, 1] on the device."""

    def stylist(frames: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            images = torch.from_numpy(frames).to(device).permute(0, 3, 1, 2).float() / 255
            rendered = to_bytes(render(images)).permute(0, 2, 3, 1)
            return rendered.contiguous().cpu().numpy()

    return stylist


def stylise_to_mp4(
    source: str | Path,
    target: str | Path,
    stylist: Stylist,
    batch: int = 8,
    *,
    crf: int = 18,
    comment: str = "",
    watch: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> str:
    """Stylise each frame of `source` into an H.264 mp4 at the source's times, with its sound.

    `batch` frames are painted at once, or fewer large ones. `crf` is x264's constant rate factor: 0
    is lossless, 18 hard to tell from the frames. `watch` is called with every frame and the
    stylised one. A truncated video is stylised as far as it can be read. Returns a sentence on what
    is missing, empty for a whole film; raises InputError when no frame can be read.
    """
    info = probe(source)
    batch = max(1, min(batch, BATCH_PIXELS // (info.width * info.height)))
    tags = dict(info.tags)
    if comment:
        tags["comment"] = "; ".join(filter(None, (tags.get("comment"), comment)))
    with atomic_path(target) as temporary:
        writer = VideoWriter(
            temporary,
            (info.height, info.width),
            info.fps,
            info.time_base,
            pixel_aspect=info.pixel_aspect,
            crf=crf,
            sound=sound_of(info.path, info.origin),
            tags=tags,
        )
        written = _run(info, writer, stylist, batch, watch)
    return missing_part(info, written)


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


def _run(
    info: VideoInfo,
    writer: VideoWriter,
    stylist: Stylist,
    batch: int,
    watch: Callable[[np.ndarray, np.ndarray], None] | None,
) -> list[int]:
    """Stylise and write all frames; return their numbers."""
    written: list[int] = []
    with writer, Progress("stylised", info.frames, "frames") as progress:

        def write(batch_of: tuple[np.ndarray, np.ndarray, list[int]]) -> None:
            for frame, result, number in zip(*batch_of, strict=True):
                writer.write(result, info.start(number))
                if watch is not None:
                    watch(frame, result)
                written.append(number)
                progress.advance()

        overlapped(read_batches(info, batch), lambda of: (of[0], stylist(of[0]), of[1]), write)
        writer.finish(info.start(written[-1] + 1))
    return written


def properties(files: Mapping[str, str | Path]) -> pd.DataFrame:
    """Properties of each file, by its name in the table, when read back; one row a file. `frames`
    are those that can be decoded, `frames_stated` what the header promises."""
    rows = []
    for name, path in files.items():
        info = probe(path)
        codec, seconds = info.sound or ("", None)
        row = {
            "file": name,
            "frames_per_second": float(info.fps),
            "frames": sum(1 for _ in read_frames(info)),
            "width": info.width,
            "height": info.height,
            "duration_seconds": round(float(info.duration), 6),
            "variable_frame_times": str(info.variable).lower(),
            "audio_codec": codec,
            "audio_seconds": None if seconds is None else round(seconds, 6),
            "frames_stated": info.frames_stated,
        }
        rows.append(row)
    return pd.DataFrame(rows)


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

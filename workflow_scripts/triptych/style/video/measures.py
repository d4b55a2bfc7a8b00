"""What is told about a stylised video: its properties, the stylist's speed, a strip of frames."""

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from triptych.core.files import atomic_path
from triptych.style.video.info import probe
from triptych.style.video.reading import count_frames, read_batches, read_frames
from triptych.style.video.transfer import Stylist


def properties(files: Mapping[str, str | Path]) -> pd.DataFrame:
    """What each file, by its name in the table, holds when read back; one row a file.

    `frames` are those that OpenCV decodes, `frames_stated` what the header promises. Of several
    audio streams the first is told.
    """
    rows = []
    for name, path in files.items():
        info = probe(path)
        sound = info.sounds[0] if info.sounds else None
        rows.append(
            {
                "file": name,
                "frames_per_second": float(info.fps),
                "frames": count_frames(info),
                "width": info.width,
                "height": info.height,
                "duration_seconds": round(float(info.duration), 6),
                "variable_frame_times": str(info.variable).lower(),
                "audio_codec": sound.codec if sound else "",
                "audio_seconds": round(sound.seconds, 6) if sound else None,
                "frames_stated": info.frames_stated,
            }
        )
    return pd.DataFrame(rows)


def frame_speeds(
    source: str | Path,
    stylist: Stylist,
    batches: Sequence[int] = (1, 8),
    repeats: int = 5,
    frames: int = 16,
    *,
    device: str,
    threads: int,
) -> pd.DataFrame:
    """How fast the stylist takes the first `frames` frames in batches of several sizes.

    Only the stylist is timed, frames in memory to frames in memory. Each repeat runs all sizes in
    turn, every other one backwards, so that the comparison is paired and a drift of the clock
    rate favours none; a round before them warms up. `device` and `threads` are only noted.
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
                rows.append(
                    {
                        "batch": batch,
                        "repeat": repeat,
                        "frames": len(taken),
                        "seconds": seconds,
                        "frames_per_second": len(taken) / seconds,
                        "device": device,
                        "threads": threads,
                    }
                )
    return pd.DataFrame(rows).sort_values(["batch", "repeat"], ignore_index=True)


def write_strip(
    path: str | Path, source: str | Path, frames_path: str | Path, count: int = 6, height: int = 180
) -> None:
    """A picture of `count` evenly spaced frames of the source above the stylised ones."""
    import cv2
    from PIL import Image

    stylised, original = probe(frames_path), probe(source)
    chosen = {int(n) for n in np.linspace(0, stylised.frames - 1, count).round()}
    rows = []
    for info in (original, stylised):
        taken = enumerate(islice(read_frames(info), max(chosen) + 1))
        found = [frame for number, (frame, _) in taken if number in chosen]
        width = max(1, round(info.width * float(info.pixel_aspect) * height / info.height))
        rows.append([cv2.resize(f, (width, height), interpolation=cv2.INTER_AREA) for f in found])
    strip = np.vstack([np.hstack(row) for row in rows])
    with atomic_path(path) as temporary:
        Image.fromarray(strip).save(temporary, format="PNG")

"""A video's frames, read by OpenCV as in section IV-B 11 of the paper: upright, 8-bit RGB."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from triptych.style.video.info import VideoInfo, unreadable

DAMAGED_FRAMES = 30
"""Frames in a row that may fail to decode before a video counts as ended."""


def read_frames(info: VideoInfo) -> Iterator[tuple[np.ndarray, int]]:
    """Frames uint8 [H, W, 3] RGB, each with its number in `info.times`.

    Numbers rise, and skip a frame that cannot be decoded. Raises InputError when none can.
    """
    import cv2

    capture = cv2.VideoCapture(str(info.path), cv2.CAP_FFMPEG)
    seconds = [float(tick * info.times.time_base) for tick in info.times.starts]
    number, failed = -1, 0
    try:
        # A failed read is the end or a damaged frame; behind the latter OpenCV reads on.
        while failed <= DAMAGED_FRAMES and not (failed and number >= info.frames - 1):
            found, picture = capture.read()
            failed = 0 if found else failed + 1
            if not found:
                continue
            shown = float(info.origin) + capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
            number = _matched(seconds, shown, number + 1)
            if picture.shape[:2] != (info.height, info.width):
                # Recorded calls change their size on the way; a written video cannot.
                picture = cv2.resize(
                    picture, (info.width, info.height), interpolation=cv2.INTER_AREA
                )
            yield cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), number
    finally:
        capture.release()
    if number < 0:
        raise unreadable(info.path, info.frames_stated)


def read_batches(info: VideoInfo, batch: int) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Frames uint8 [n, H, W, 3] RGB with their numbers, n = `batch` but for the last."""
    frames: list[np.ndarray] = []
    numbers: list[int] = []
    for frame, number in read_frames(info):
        frames.append(frame)
        numbers.append(number)
        if len(frames) == batch:
            yield np.stack(frames), numbers
            frames, numbers = [], []
    if frames:
        yield np.stack(frames), numbers


def count_frames(info: VideoInfo) -> int:
    """How many frames can be decoded."""
    return sum(1 for _ in read_frames(info))


def _matched(seconds: list[float], shown: float, earliest: int) -> int:
    """The frame, not before `earliest`, that was to be shown nearest to `shown` seconds."""
    if earliest >= len(seconds):
        return earliest
    after = bisect_left(seconds, shown, lo=earliest)
    if after == earliest:
        return earliest
    if after == len(seconds) or shown - seconds[after - 1] < seconds[after] - shown:
        return after - 1
    return after

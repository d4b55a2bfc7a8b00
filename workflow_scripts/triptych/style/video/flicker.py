"""Flicker of a stylised video: changes from frame to frame where nothing moved.

The warped error of Ruder, Dosovitskiy and Brox, "Artistic style transfer for videos" (2016): the
previous frame, moved along the optical flow of the *source*, is compared with the present one
where the flow can be trusted. The source's own warped error is the yardstick.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import pandas as pd

LONGEST_SIDE = 640
"""Pixels; larger frames are averaged down first, since flow of full HD takes seconds a frame."""

LEAST_VALID_PERCENT = 20.0
"""Below this share of trusted pixels there is no error: cuts between photographs leave 0 to 10."""


@dataclass(frozen=True)
class Flow:
    """Place of each pixel of a frame in the frame before: `offsets`, float32 [H, W, 2], pixels
    right and down; `valid`, bool [H, W], where that can be trusted."""

    offsets: np.ndarray
    valid: np.ndarray

    def warp(self, previous: np.ndarray) -> np.ndarray:
        """The previous frame, [H, W] or [H, W, C], moved to where its parts are now."""
        across, down = positions(self.offsets)
        return cv2.remap(previous, across, down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


class Flicker:
    """Warped errors of a stylised video and its source, whose frames are added in order."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    def add(self, source: np.ndarray, stylised: np.ndarray) -> None:
        """Compare a source frame and its stylised one, uint8 [H, W, 3] RGB, with those before."""
        now = limited(source), limited(stylised)
        if self._before is not None:
            with on_one_thread():
                flow = flow_between(self._before[0], now[0])
                source_error, stylised_error = (
                    warped_error(previous, present, flow)
                    for previous, present in zip(self._before, now, strict=True)
                )
            ratio = stylised_error / source_error if source_error else np.nan
            valid = 100 * float(flow.valid.mean())
            self._rows.append((len(self._rows) + 1, source_error, stylised_error, ratio, valid))
        self._before = now

    def table(self) -> pd.DataFrame:
        """A row for each frame but the first.

        Columns: frame, source_error and stylised_error (root mean square over trusted pixels, on a
        scale of 0 to 1; empty after a cut), ratio (stylised over source), valid_percent.
        """
        columns = ["frame", "source_error", "stylised_error", "ratio", "valid_percent"]
        return pd.DataFrame(self._rows, columns=columns)


def warped_error(previous: np.ndarray, present: np.ndarray, flow: Flow) -> float:
    """Root mean square difference, in [0, 1], of two uint8 frames along a flow.

    NaN where less than LEAST_VALID_PERCENT of the pixels can be compared.
    """
    if 100 * flow.valid.mean() < LEAST_VALID_PERCENT:
        return float("nan")
    warped = flow.warp(previous.astype(np.float32)).clip(0, 255)
    difference = (present - warped)[flow.valid] / 255
    return float(np.sqrt(np.mean(difference.astype(np.float64) ** 2)))


def flow_between(previous: np.ndarray, present: np.ndarray) -> Flow:
    """Optical flow of two uint8 frames [H, W, 3] RGB by dense inverse search (Kroeger, 2016).

    Trusted is what returns to its place, where the flow is smooth: Ruder et al., equations 4 and 5.
    """
    # OpenCV's type hints deny that the flow to start from may be left out.
    method: Any = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    before, now = (cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (previous, present))
    back = method.calc(now, before, None)
    forth = method.calc(before, now, None)
    across, down = positions(back)
    returned = cv2.remap(forth, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    lengths = (back**2).sum(2) + (returned**2).sum(2)
    consistent = ((back + returned) ** 2).sum(2) <= 0.01 * lengths + 0.5
    slopes = [np.gradient(back[..., axis], axis=(0, 1)) for axis in (0, 1)]
    steepness = sum(slope**2 for pair in slopes for slope in pair)
    smooth = steepness <= 0.01 * (back**2).sum(2) + 0.002
    height, width = now.shape
    inside = (across >= 0) & (across <= width - 1) & (down >= 0) & (down <= height - 1)
    return Flow(back, consistent & smooth & inside)


def positions(offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column and row, float32 [H, W] each, of each pixel's place in the frame before."""
    height, width = offsets.shape[:2]
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    return columns + offsets[..., 0], rows + offsets[..., 1]


def limited(frame: np.ndarray) -> np.ndarray:
    """The frame [H, W, 3], averaged down to LONGEST_SIDE where it is larger."""
    scale = LONGEST_SIDE / max(frame.shape[:2])
    if scale >= 1:
        return frame
    size = round(frame.shape[1] * scale), round(frame.shape[0] * scale)
    return cv2.resize(frame, size, interpolation=cv2.INTER_AREA)


@contextmanager
def on_one_thread() -> Iterator[None]:
    """OpenCV on one thread: its flow's stripes, and with them its result, follow their number."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)

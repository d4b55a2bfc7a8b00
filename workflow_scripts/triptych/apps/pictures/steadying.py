"""Less flicker: each stylised frame keeps a share of the one before, moved as the source moved."""

import numpy as np

from triptych.style.video.flicker import (
    LEAST_VALID_PERCENT,
    Flow,
    flow_between,
    limited,
    on_one_thread,
)
from triptych.style.video.transfer import Stylist

FEATHER = 5
"""Pixels over which trust in the flow falls off, so that no edge of it shows."""


class Steadied:
    """A stylist of one video's frames, in their order, that steadies another one's.

    A frame is `share` of the result before it, warped along the source's optical flow where that
    can be trusted, and the rest its own: what flickers falls to about (1 - share) of what it was,
    or less, and what moved or was covered is painted anew. After a cut nothing is kept.
    """

    def __init__(self, stylist: Stylist, share: float) -> None:
        """share: of the frame before, from 0 to 1"""
        self._stylist, self._share = stylist, share
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, frames: np.ndarray) -> np.ndarray:
        """As Stylist: uint8 [n, H, W, 3] RGB to as many."""
        results = self._stylist(frames).astype(np.float32)
        with on_one_thread():
            for source, result in zip(frames, results, strict=True):
                seen = limited(source)
                if self._before is not None:
                    self._blend(result, seen, *self._before)
                self._before = seen, result
        return results.round().clip(0, 255).astype(np.uint8)

    def _blend(
        self, result: np.ndarray, seen: np.ndarray, before: np.ndarray, kept: np.ndarray
    ) -> None:
        """Mix the result before, `kept`, into `result`, both float32 [H, W, 3]."""
        import cv2

        flow = flow_between(before, seen)
        if 100 * flow.valid.mean() < LEAST_VALID_PERCENT:
            return
        trust = flow.valid.astype(np.float32)
        trust = np.minimum(trust, cv2.blur(trust, (FEATHER, FEATHER)))
        height, width = result.shape[:2]
        offsets = flow.offsets
        if offsets.shape[:2] != (height, width):  # flow is of the frame averaged down
            larger = width / offsets.shape[1]
            offsets = np.asarray(larger * cv2.resize(offsets, (width, height)), np.float32)
            trust = np.asarray(cv2.resize(trust, (width, height)), np.float32)
        moved = Flow(offsets, flow.valid).warp(kept)
        result += self._share * trust[..., None] * (moved - result)

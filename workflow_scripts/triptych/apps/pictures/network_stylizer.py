"""Photographs and films through a network in PyTorch: any size, any device, half precision."""

import argparse
import logging

import numpy as np
import torch
from torch import Tensor

from triptych.apps import chosen_device
from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.stylizer import Stylizer, painted_side
from triptych.apps.pictures.work_list import Item
from triptych.style.data.image_files import Planes
from triptych.style.metadata import PAINTED
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import (
    checked_precision,
    decibels_to_float32,
    middle,
    stylise,
)
from triptych.style.video.flicker import (
    LEAST_VALID_PERCENT,
    Flow,
    flow_between,
    limited,
    on_one_thread,
)
from triptych.style.video.transfer import Stylist, stylise_to_mp4, stylist_of

STEADY = 0.85
"""Share of the frame before, warped along the film's flow, that each frame of a film keeps."""

FEATHER = 5
"""Pixels over which trust in the flow falls off, so that no edge of it shows."""

logger = logging.getLogger(__name__)


class NetworkStylizer(Stylizer):
    """A trained network in PyTorch: one pass an image."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.device = chosen_device(options)
        path, style, sentence = find_network(options.style)
        network, record = load_network(path, style)
        self.network = network.to(self.device)
        self.least = network.architecture.smallest
        self.prepared: PreparedNetwork | None = None
        self.shorter = painted_side(options, record.get("painting_size"))
        self._begun = False
        """Whether an image of this input was painted, which may be a film of many batches."""
        logger.info(sentence)

    def begin(self, item: Item) -> None:
        """Let the next image choose the precision."""
        super().begin(item)
        self._begun = False

    def render(self, photographs: Planes) -> Planes:
        """Paint photographs [N, 3, H, W]."""
        images = torch.from_numpy(photographs).to(self.device)
        prepared = self._prepared_for(images[0])
        self._begun = True
        results: Planes = stylise(prepared, images).cpu().numpy()
        return results

    def film(self, item: Item) -> None:
        """Stylise a video, frame by frame, as mp4 with its sound."""

        def painted(frames: Tensor) -> Tensor:
            return torch.from_numpy(self.stylised(frames.numpy()))

        stylist = stylist_of(painted, torch.device("cpu"))
        steadied = Steadied(stylist, STEADY)
        with item.results.new(item.target) as path:
            stylise_to_mp4(item.source, path, steadied, comment=f"painted by {PAINTED}")

    def _prepared_for(self, image: Tensor) -> PreparedNetwork:
        """The network in the precision that was asked for.

        "auto" is checked on each image and on a film's first frame, until one makes it give way to
        float32. How far half precision is from it is printed for the first.
        """
        before, precision = self.prepared, self.options.precision
        fixed = self._begun or precision != "auto"
        if before is not None and (fixed or before.precision == "float32"):
            return before
        precision = checked_precision(self.network, image, precision)
        if before is not None and precision == before.precision:
            return before
        self.prepared = PreparedNetwork(self.network, precision)
        if precision != "float32":
            decibels = decibels_to_float32(self.network, middle(image, 512), precision)
            logger.info(f"precision {precision}: {decibels:.0f} dB from float32")
        return self.prepared


class Steadied:
    """A stylist of one video's frames, in their order, with less flicker than another stylist.

    A frame is `share` of the result before it, warped along the source's optical flow where that
    can be trusted, and the rest its own: flicker falls to about (1 - share) of what it was, or
    less, and what moved or was covered is painted by itself. After a cut nothing is kept.
    """

    def __init__(self, stylist: Stylist, share: float) -> None:
        """share: of the frame before, from 0 to 1"""
        self._stylist, self._share = stylist, share
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, frames: np.ndarray) -> np.ndarray:
        """Stylise frames, uint8 [n, H, W, 3] RGB, to as many."""
        results = self._stylist(frames).astype(np.float32)
        with on_one_thread():
            for source, result in zip(frames, results, strict=True):
                reduced = limited(source)
                if self._before is not None:
                    self._blend(result, reduced, *self._before)
                self._before = reduced, result
        return results.round().clip(0, 255).astype(np.uint8)

    def _blend(
        self, result: np.ndarray, source: np.ndarray, before: np.ndarray, previous: np.ndarray
    ) -> None:
        """Mix the result before, `previous`, into `result`, both float32 [H, W, 3]."""
        import cv2

        flow = flow_between(before, source)
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
        moved = Flow(offsets, flow.valid).warp(previous)
        result += self._share * trust[..., None] * (moved - result)

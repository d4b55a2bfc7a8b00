"""Photographs and films through a network in PyTorch: any size, any device, half precision.

Steadier films: strokes move along with the film instead of being painted anew each frame. A painted
frame's fine detail is averaged with that of the frame before, moved along the film's optical flow
(Ruder et al. 2016). All that is coarser stays the frame's own, and so does the strength of the
detail: an average is as sharp as a frame. Nothing is kept where the film changed.
"""

import argparse
import logging

import cv2
import numpy as np
import torch
from torch import Tensor

from triptych.apps import chosen_device
from triptych.apps.pictures import STEADY
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

AGREEMENT = 0.5
"""Difference of frame and film kept, over both their variances, at which trust has fallen to 1/e.
Motion leaves 0.0 to 0.3, other content 1."""

NEIGHBOURHOOD = 2.0
"""Standard deviation, in pixels of the flow, of the neighbourhood that is compared."""

NOISE = 6.0
"""Standard deviation of noise, in levels, that is no change."""

FEATHER = 3
"""Pixels over which trust falls off, so that no edge of it shows."""

HALVINGS = 3
"""Octaves of detail, below the finest, that are kept; what is coarser is each frame's own."""

ENERGY_WINDOW = 25
"""Pixels along a side of the squares in which the strength of detail is compared."""

LARGEST_GAIN = 2.0
"""Factor by which averaged detail is made stronger or weaker at most."""

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
        super().begin(item)
        self._begun = False

    def render(self, photographs: Planes) -> Planes:
        images = torch.from_numpy(photographs).to(self.device)
        prepared = self._prepared_for(images[0])
        self._begun = True
        results: Planes = stylise(prepared, images).cpu().numpy()
        return results

    def film(self, item: Item) -> str:
        """Stylise a video, frame by frame, as mp4 with its sound; return what of it is missing."""

        def painted(frames: Tensor) -> Tensor:
            return torch.from_numpy(self.stylised(frames.numpy()))

        stylist = stylist_of(painted, torch.device("cpu"))
        if share := STEADY if self.options.steady is None else self.options.steady:
            stylist = Steadied(stylist, share)
        with item.results.new(item.target) as path:
            return stylise_to_mp4(item.source, path, stylist, comment=f"painted by {PAINTED}")

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
    """A stylist of one video's frames, in their order, with less flicker than another stylist."""

    def __init__(self, stylist: Stylist, share: float) -> None:
        """share: of the fine detail that is kept of the frame before, from 0 to 1"""
        self._stylist, self._share = stylist, share
        self._before: np.ndarray | None = None  # the last frame, reduced, uint8
        self._film = np.empty(0, np.float32)  # the film, averaged as its painted frames are
        self._result = np.empty(0, np.float32)

    def __call__(self, frames: np.ndarray) -> np.ndarray:
        """Stylise frames, uint8 [n, H, W, 3] RGB, to as many."""
        results = np.array(self._stylist(frames))
        with on_one_thread():
            for number, frame in enumerate(frames):
                self._advance(limited(frame), results[number].astype(np.float32))
                results[number] = self._result.round().clip(0, 255)
        return results

    def _advance(self, frame: np.ndarray, painted: np.ndarray) -> None:
        """Go on by a frame, reduced, and its painted one, float32 [H, W, 3]."""
        before, film = self._before, frame.astype(np.float32)
        self._before = frame
        if before is not None:
            flow = flow_between(before, frame)
            if 100 * flow.valid.mean() >= LEAST_VALID_PERCENT:
                moved = _moved(self._film, flow.offsets)
                trust = _trust(flow, film, moved)
                film += self._share * trust[..., None] * (moved - film)
                painted = self._mixed(painted, flow.offsets, trust)
        self._film, self._result = film, painted

    def _mixed(self, painted: np.ndarray, offsets: np.ndarray, trust: np.ndarray) -> np.ndarray:
        """A painted frame with fine detail of the result before it, by trust [h, w] in that."""
        height, width = painted.shape[:2]
        if trust.shape != (height, width):  # flow is of the frame averaged down
            offsets = cv2.resize(offsets, (width, height)) * np.float32(width / trust.shape[1])
            trust = cv2.resize(trust, (width, height))
        mixed = _moved(self._result, offsets)
        mixed -= painted
        mixed *= self._share * trust[..., None]
        mixed += painted
        soft, soft_painted = (cv2.GaussianBlur(image, (3, 3), 0.6) for image in (mixed, painted))
        mixed -= soft
        mixed = _scaled(mixed, painted - soft_painted)
        mixed += _octaves(soft, soft_painted, HALVINGS)
        mixed -= painted  # without trust, what lies beside it scales nothing
        mixed *= np.minimum(1, 4 * trust)[..., None]
        mixed += painted
        return mixed


def _octaves(mixed: np.ndarray, painted: np.ndarray, halvings: int) -> np.ndarray:
    """Detail of `mixed` in so many octaves, as strong as that of `painted`, on the rest of that."""
    if halvings == 0 or min(painted.shape[:2]) < 2:
        return painted
    size = painted.shape[1], painted.shape[0]
    coarse, coarse_painted = cv2.pyrDown(mixed), cv2.pyrDown(painted)
    fine = _scaled(
        mixed - cv2.pyrUp(coarse, dstsize=size), painted - cv2.pyrUp(coarse_painted, dstsize=size)
    )
    fine += cv2.pyrUp(_octaves(coarse, coarse_painted, halvings - 1), dstsize=size)
    return fine


def _scaled(mixed: np.ndarray, painted: np.ndarray) -> np.ndarray:
    """Detail `mixed` with the strength that `painted` has around each pixel, both [H, W, 3]."""
    window = ENERGY_WINDOW, ENERGY_WINDOW
    energies = [cv2.blur(np.einsum("hwc,hwc->hw", x, x), window) for x in (painted, mixed)]
    gain = np.sqrt((energies[0] + 1) / (energies[1] + 1))
    mixed *= gain.clip(1 / LARGEST_GAIN, LARGEST_GAIN)[..., None]
    return mixed


def _trust(flow: Flow, frame: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Trust in [0, 1], float32 [H, W]: the flow is valid, and the film kept, `moved`, shows what
    the frame shows, both float32 [H, W, 3]."""

    def around(image: np.ndarray) -> np.ndarray:
        return cv2.GaussianBlur(image, (0, 0), NEIGHBOURHOOD)

    variance = sum(around(image * image) - around(image) ** 2 for image in (frame, moved))
    differs = around((frame - moved) ** 2).sum(2) / (variance.sum(2) + 3 * NOISE**2)
    trust = flow.valid * np.exp(-((differs / AGREEMENT) ** 4))
    return np.minimum(trust, cv2.blur(trust, (FEATHER, FEATHER))).astype(np.float32)


def _moved(image: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The image [H, W, 3] before, moved to where its parts are now, as sharply as can be."""
    rows, columns = np.indices(offsets.shape[:2], np.float32)
    across, down = columns + offsets[..., 0], rows + offsets[..., 1]
    return cv2.remap(image, across, down, cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE)

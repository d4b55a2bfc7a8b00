"""What `triptych stylize` does with each image and video."""

import argparse
import sys
from pathlib import Path

import numpy as np
from torch import Tensor

from triptych.apps import chosen_device
from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.quick import PAINTING
from triptych.apps.pictures.work_list import Item
from triptych.core.errors import told
from triptych.core.progress import Progress
from triptych.style.data.image_files import keep_colours
from triptych.style.data.images import (
    enlarged,
    read_image_alpha,
    resize,
    resize_to,
    write_image,
)
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.memory import parse_bytes, resident_memory
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import (
    checked_precision,
    middle,
    precision_error,
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

FEATHER = 5
"""Pixels over which trust in the flow falls off, so that no edge of it shows."""


class Stylizer:
    """Takes images through `render`; what fails is kept for the end."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.device = chosen_device(options)

    def render(self, images: Tensor) -> Tensor:
        """A batch of images [N, 3, H, W] in [0, 1], stylised."""
        raise NotImplementedError

    def work(self, items: list[Item]) -> list[tuple[Path, str]]:
        """Stylise and write every item; the sources that failed, and why."""
        failures: list[tuple[Path, str]] = []
        with Progress("stylised", len(items), "inputs") as progress:
            for item in items:
                try:
                    (self.film if item.kind == "video" else self.paint)(item)
                    print(f"{item.source} -> {item.target}", flush=True)
                except Exception as problem:  # it ends this input's work, not the others'
                    failures.append((item.source, told(problem)))
                progress.advance()
        return failures

    def paint(self, item: Item) -> None:
        """Stylise an image from its source to its target, in the size that was asked for."""
        rgb, alpha = read_image_alpha(item.source)
        if self.options.size:
            rgb = resize(rgb, self.options.size)
            if alpha is not None:
                alpha = resize_to(alpha, *rgb.shape[-2:])
        write_image(item.target, self.finished(rgb[None])[0], alpha)

    def film(self, item: Item) -> None:
        """Stylise a video from its source to its target."""
        raise NotImplementedError

    def finished(self, originals: Tensor) -> Tensor:
        """Rendered images with the colours and in the strength that were asked for."""
        originals = originals.to(self.device)
        results = self.render(originals)
        if self.options.keep_colours:
            results = keep_colours(originals, results)
        if self.options.strength < 1:
            results = originals.lerp(results, self.options.strength)
        return results.cpu()


class NetworkStylizer(Stylizer):
    """A trained network: one pass an image."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        limit = parse_bytes(options.memory) if options.memory else None
        path, style, sentence = find_network(options.style)
        network, record = load_network(path, style)
        self.network = network.to(self.device)
        self.prepared: PreparedNetwork | None = None
        self.limit = None if limit is None else limit - resident_memory()
        self.scale = options.style_scale or 1.0
        self.shorter = max(1, round(record.get("painting_size", PAINTING) / self.scale))
        self._begun = False
        """Whether an image of this input was stylised, which may be a film of many batches"""
        print(sentence, file=sys.stderr)

    def render(self, images: Tensor) -> Tensor:
        """As `Stylizer.render`, at the size at which strokes are as large as was asked for."""
        height, width = images.shape[-2:]
        if min(height, width) <= self.shorter:
            return self._stylised(images, images.nbytes)
        small = resize(images, self.shorter)
        if not self._begun:
            print(
                f"{width}x{height} pixels: painted at {small.shape[-1]}x{small.shape[-2]} and "
                f"enlarged with the photograph's detail, for strokes of --style-scale "
                f"{self.scale:g}",
                file=sys.stderr,
            )
        return enlarged(self._stylised(small, images.nbytes), small, images)

    def _stylised(self, images: Tensor, whole: int) -> Tensor:
        """In tiles where the limit of memory asks for them; whole: bytes of the images as read."""
        prepared = self._prepared_for(images[0])
        self._begun = True
        if self.limit is None:
            return stylise(prepared, images)
        # The images as read, as stacked and as floats of the result.
        allowed = max(0.0, self.limit - 3 * whole)
        return stylise(prepared, images, memory_bytes=allowed)

    def paint(self, item: Item) -> None:
        """As `Stylizer.paint`."""
        self._begun = False
        super().paint(item)

    def film(self, item: Item) -> None:
        """Stylise a video, frame by frame, as mp4 with its sound."""
        self._begun = False
        stylist, share = stylist_of(self.finished, self.device), self.options.steady
        steadied = Steadied(stylist, share) if share else stylist
        stylise_to_mp4(item.source, item.target, steadied)

    def _prepared_for(self, image: Tensor) -> PreparedNetwork:
        """The network in the precision that was asked for; "auto" is checked on each image and
        on a film's first frame, until one makes it give way to float32. What half precision costs
        is said of the first."""
        before, wanted = self.prepared, self.options.precision
        kept = self._begun or wanted != "auto"
        if before is not None and (kept or before.precision == "float32"):
            return before
        precision = checked_precision(self.network, image, wanted)
        if before is not None and precision == before.precision:
            return before
        self.prepared = PreparedNetwork(self.network, precision)
        if precision != "float32":
            error = precision_error(self.network, middle(image, 512), precision)
            print(f"precision {precision}: {error}", file=sys.stderr)
        return self.prepared


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

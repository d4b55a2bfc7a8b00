"""One preparation and one finish of pictures, around the engines that paint. No PyTorch."""

import argparse
import logging
from pathlib import Path

import numpy as np

from triptych.apps.pictures.work_list import Item
from triptych.core.errors import InputError, error_message
from triptych.core.progress import Progress
from triptych.style.data.enlarging import enlarged, resized
from triptych.style.data.image_files import (
    ABOUT,
    MOST_PIXELS,
    Planes,
    check_target,
    keep_colours,
    open_image,
    planes,
    shape_along,
    write_planes,
)
from triptych.style.metadata import marked

PAINTING = 512
"""Pixels along the shorter side of the painting of a network that doesn't say it."""

logger = logging.getLogger(__name__)


class TooLargeError(Exception):
    """A picture that this engine leaves to another one."""


class Stylizer:
    """Reads pictures, paints them with the engine of a subclass, finishes and writes them.

    shorter: pixels along the shorter side at which the engine paints larger pictures; None: it
    paints each at its own size
    least: pixels along a side that the engine needs; smaller pictures are continued by their edge
    left: inputs that were too large for the engine
    """

    shorter: int | None = None
    least = 1

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.left: list[Item] = []
        self.source = Path()
        """The input that is worked on, for messages."""
        self._said_smaller = False

    def begin(self, item: Item) -> None:
        self.source, self._said_smaller = item.source, False

    def render(self, photographs: Planes) -> Planes:
        """Paint photographs [N, 3, H, W] in [0, 1]: the engine."""
        raise NotImplementedError

    def film(self, item: Item) -> str:
        """Stylise a film, and write the result; return a sentence on what of it is missing."""
        raise NotImplementedError

    def work(self, items: list[Item], progress: Progress) -> list[tuple[Path, str]]:
        """Stylise and write every item; return the sources of which something failed, and why.

        progress: counts those that are done
        """
        failures: list[tuple[Path, str]] = []
        for item in items:
            self.begin(item)
            try:
                problem = self._done(item)
            except TooLargeError:
                self.left.append(item)
                continue
            except Exception as error:  # it ends this input's work, not the others'
                problem = error_message(error)
            if problem:
                failures.append((item.source, problem))
                progress.skip()
            else:
                progress.advance()
        return failures

    def _done(self, item: Item) -> str:
        """Stylise and write an item; return what of it could not be read."""
        lacks = ""
        if item.kind == "video":
            lacks = self.film(item)
        else:
            self.paint(item)
        if not self.options.quiet:
            print(f"{item.source} -> {item.results.written[-1]}", flush=True)
        return lacks

    def paint(self, item: Item) -> None:
        """Stylise an image at the size of --size, and write the result."""
        size = self.options.size
        image = open_image(item.source, shorter=size)
        width, height = image.size
        sides = shape_along(height, width, size) if size else (height, width)
        if sides[0] * sides[1] > MOST_PIXELS:
            raise InputError(
                f"{item.source}: {width}x{height} pixels, --size {size} makes it "
                f"{sides[1]}x{sides[0]}; at most {MOST_PIXELS / 1e6:.0f} million are painted"
            )
        check_target(item.target, *sides)
        photograph, alpha = planes(image)
        about = image.info.get(ABOUT, {})
        del image
        if sides != (height, width):
            photograph, alpha = resized(photograph, alpha, *sides)
        result = self.stylised(photograph[None], alpha)[0]
        with item.results.new(item.target) as path:
            write_planes(path, result, alpha, marked(about))

    def stylised(self, photographs: Planes, alpha: Planes | None = None) -> Planes:
        """Photographs [N, 3, H, W] painted, enlarged, with the colours and strength asked for.

        alpha: their opacity [1, H, W], where they have one
        """
        height, width = photographs.shape[2:]
        sides = self._painted_size(height, width)
        if sides == (height, width):
            results = self._rendered(photographs)
        else:
            self._say_smaller((height, width), sides)
            small = np.stack([resized(image, alpha, *sides)[0] for image in photographs])
            pairs = zip(self._rendered(small), small, photographs, strict=True)
            results = np.stack([enlarged(*images) for images in pairs])
        if self.options.keep_colours:
            results = keep_colours(photographs, results)
        if self.options.strength < 1:
            strength = np.float32(self.options.strength)
            results = photographs + strength * (results - photographs)
        return results

    def _rendered(self, photographs: Planes) -> Planes:
        """`render` of photographs that may be smaller than the engine's least. Raises InputError
        for a network that gives NaN."""
        height, width = photographs.shape[2:]
        margins = (0, max(0, self.least - height)), (0, max(0, self.least - width))
        if any(after for _, after in margins):
            photographs = np.pad(photographs, ((0, 0), (0, 0), *margins), mode="edge")
        results = self.render(photographs)[:, :, :height, :width]
        if not np.isfinite(results).all():
            raise InputError("the network gave NaN or infinity: its training has failed")
        return results

    def _say_smaller(self, size: tuple[int, int], painted: tuple[int, int]) -> None:
        """Say once of an input, which may be a film of many batches, that it is painted smaller."""
        if not self._said_smaller:
            logger.info(
                f"{self.source}: {size[1]}x{size[0]} pixels, painted at {painted[1]}x{painted[0]} "
                "and enlarged with the photograph's detail (see --style-scale)"
            )
        self._said_smaller = True

    def _painted_size(self, height: int, width: int) -> tuple[int, int]:
        if self.shorter is None or min(height, width) <= self.shorter:
            return height, width
        return shape_along(height, width, self.shorter)


def painted_side(options: argparse.Namespace, painting_size: int | None) -> int:
    """Pixels along the shorter side at which strokes are as large as --style-scale asks for.

    painting_size: that of the painting which the network learned from
    """
    return max(1, round((painting_size or PAINTING) / options.style_scale))

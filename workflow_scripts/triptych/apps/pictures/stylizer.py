"""What `triptych stylize` does with each image and video."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.steadying import Steadied
from triptych.apps.pictures.work_list import Item
from triptych.core.device import choose_device, chosen_precisions
from triptych.core.errors import InputError
from triptych.core.progress import Progress
from triptych.style.data.images import (
    enlarged,
    read_image_alpha,
    resize,
    resize_to,
    to_bytes,
    write_image,
)
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.memory import parse_bytes, resident_memory
from triptych.style.network.network_files import load_network
from triptych.style.network.stylize import (
    checked_precision,
    keep_colours,
    middle,
    precision_error,
    stylise,
)
from triptych.style.video.transfer import stylise_to_mp4

PAINTING = 512
"""Pixels along the shorter side of the painting of a network that doesn't say it."""


@dataclass(frozen=True)
class Photograph:
    """An image that was read, and resized if that was asked for."""

    item: Item
    rgb: Tensor
    alpha: Tensor | None


class Stylizer:
    """Takes images through `render`; what fails is kept for the end."""

    batch = 1

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        try:
            self.device = choose_device(options.device)
        except ValueError as problem:
            raise InputError(str(problem)) from problem

    def render(self, images: Tensor) -> Tensor:
        """Stylised images of images [N, 3, H, W] in [0, 1], of one size."""
        raise NotImplementedError

    def work(self, items: list[Item]) -> list[tuple[Path, str]]:
        """Stylise and write every item; the sources that failed, and why."""
        failures: list[tuple[Path, str]] = []
        for item in (item for item in items if item.kind == "video"):
            try:
                self.film(item)
                print(f"{item.source} -> {item.target}", flush=True)
            except Exception as problem:  # it ends this input's work, not the others'
                failures.append((item.source, _said(problem)))
        images = [item for item in items if item.kind == "image"]
        if images:
            with Progress("stylised", len(images), "images") as progress:
                for group in _alike(self._read(images, failures), self.batch):
                    self._finish(group, failures)
                    progress.advance(len(group))
        return failures

    def film(self, item: Item) -> None:
        """Stylise a video from its source to its target."""
        raise NotImplementedError

    def _finish(self, group: list[Photograph], failures: list[tuple[Path, str]]) -> None:
        """Stylise photographs of one size together and write them; where that fails, each alone."""
        try:
            results = self.finished(_stacked([each.rgb for each in group]))
        except Exception as problem:
            if len(group) == 1:
                failures.append((group[0].item.source, _said(problem)))
            else:
                for each in group:
                    self._finish([each], failures)
            return
        for each, result in zip(group, results, strict=True):
            try:
                write_image(each.item.target, result, each.alpha)
                print(f"{each.item.source} -> {each.item.target}", flush=True)
            except Exception as problem:
                failures.append((each.item.source, _said(problem)))

    def finished(self, originals: Tensor) -> Tensor:
        """Rendered images with the colours and in the strength that were asked for."""
        originals = originals.to(self.device)
        results = self.render(originals)
        if self.options.keep_colours == "luma":
            results = keep_colours(originals, results)
        if self.options.strength < 1:
            results = originals.lerp(results, self.options.strength)
        return results.cpu()

    def _read(
        self, items: Iterable[Item], failures: list[tuple[Path, str]]
    ) -> Iterator[Photograph]:
        """The images that can be read, in the size that was asked for."""
        for item in items:
            try:
                rgb, alpha = read_image_alpha(item.source)
                if self.options.size:
                    rgb = resize(rgb, self.options.size)
                    if alpha is not None:
                        alpha = resize_to(alpha, *rgb.shape[-2:])
                yield Photograph(item, rgb, alpha)
            except Exception as problem:
                failures.append((item.source, _said(problem)))


def _said(problem: Exception) -> str:
    """A message for people as it is, any other with its kind."""
    told = isinstance(problem, InputError | OSError)
    return str(problem) if told else f"{type(problem).__name__}: {problem}"


class NetworkStylizer(Stylizer):
    """A trained network: one pass an image."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        limit = parse_bytes(options.memory) if options.memory else None
        path, style, sentence = find_network(options.style)
        network, record = load_network(path, style)
        self.batch = options.batch
        self.network = network.to(self.device)
        self.prepared: PreparedNetwork | None = None
        self.limit = None if limit is None else limit - resident_memory()
        self.scale = options.style_scale or 1.0
        self.shorter = max(1, round(record.get("painting_size", PAINTING) / self.scale))
        self.told: set[tuple[int, int]] = set()
        print(sentence, file=sys.stderr)

    def render(self, images: Tensor) -> Tensor:
        """As `Stylizer.render`, at the size at which strokes are as large as was asked for."""
        height, width = images.shape[-2:]
        if min(height, width) <= self.shorter:
            return self._stylised(images, images.nbytes)
        small = resize(images, self.shorter)
        if (height, width) not in self.told:
            self.told.add((height, width))
            print(
                f"{width}x{height} pixels: painted at {small.shape[-1]}x{small.shape[-2]}, for "
                f"strokes of --style-scale {self.scale:g}, and enlarged with the "
                "photograph's detail",
                file=sys.stderr,
            )
        return enlarged(self._stylised(small, images.nbytes), small, images)

    def _stylised(self, images: Tensor, whole: int) -> Tensor:
        """In tiles where the limit of memory asks for them; whole: bytes of the images as read."""
        prepared = self.prepared or self._prepare(images[0])
        if self.limit is None:
            return stylise(prepared, images)
        # The images as read, as stacked and as floats of the result.
        allowed = max(0.0, self.limit - 3 * whole)
        return stylise(prepared, images, memory_bytes=allowed)

    def film(self, item: Item) -> None:
        """Stylise a video, frame by frame, as mp4 with its sound."""

        def stylist(frames: np.ndarray) -> np.ndarray:
            images = torch.from_numpy(frames).permute(0, 3, 1, 2).float().div_(255)
            return to_bytes(self.finished(images)).permute(0, 2, 3, 1).contiguous().numpy()

        share = self.options.steady
        steadied = Steadied(stylist, share) if share else stylist
        stylise_to_mp4(item.source, item.target, steadied, self.batch)

    def _prepare(self, image: Tensor) -> PreparedNetwork:
        """Once, on the first image: choose the precision, and say what half precision costs."""
        precision = checked_precision(self.network, image, self.options.precision)
        if precision != "float32":
            error = precision_error(self.network, middle(image, 512), precision)
            print(f"precision {precision}: {error}", file=sys.stderr)
        elif self.options.precision == "auto":
            print(f"precision float32: {chosen_precisions()[-1]['why']}", file=sys.stderr)
        self.prepared = PreparedNetwork(self.network, precision)
        return self.prepared


def _alike(photographs: Iterable[Photograph], most: int) -> Iterator[list[Photograph]]:
    """Neighbours of one size together, at most so many; a full group waits for no other image."""
    group: list[Photograph] = []
    for photograph in photographs:
        if group and photograph.rgb.shape != group[0].rgb.shape:
            yield group
            group = []
        group.append(photograph)
        if len(group) == most:
            yield group
            group = []
    if group:
        yield group


def _stacked(images: list[Tensor]) -> Tensor:
    """[N, 3, H, W]; of one image, which may be large, no copy."""
    return images[0][None] if len(images) == 1 else torch.stack(images)

"""Photographs through a network in ONNX Runtime: the first picture without PyTorch's start."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.work_list import Item
from triptych.core.errors import InputError, told
from triptych.core.files import sha256_of
from triptych.core.packages import cache_folder
from triptych.style.data.enlarging import enlarged, reduced
from triptych.style.data.image_files import (
    keep_colours,
    open_image,
    planes,
    shape_along,
    write_planes,
)
from triptych.style.network.mixtures import header_of, mixture

PAINTING = 512
"""Pixels along the shorter side of the painting of a network that doesn't say it."""

MOST_PIXELS = 4e6
"""Painted at once: larger pictures are for tiles."""

MOST_PICTURES = 16
"""More are worth PyTorch's start, since a GPU may be there."""


def suits(options: argparse.Namespace, items: list[Item]) -> bool:
    """Whether nothing is asked for that needs PyTorch, and the network has its ONNX file."""
    plain = options.precision in ("auto", "float32") and not (options.optimize or options.memory)
    few = len(items) <= MOST_PICTURES or options.device == "cpu"
    if not plain or not few or options.device == "cuda":
        return False
    network, _, _ = find_network(options.style)
    return (
        all(item.kind == "image" for item in items)
        and network.suffix == ".safetensors"
        and _file(network).is_file()
    )


def _file(network: Path) -> Path:
    """Where the network's ONNX file lies: beside its own, or in the cache (`triptych weights`).

    One that is older than the network is of other weights: it was exported before a training.
    """
    beside = network.with_suffix(".onnx")
    fresh = beside.is_file() and beside.stat().st_mtime_ns >= network.stat().st_mtime_ns
    return beside if fresh else cached(network)


def cached(network: Path) -> Path:
    """Where `triptych weights` writes a shipped network's ONNX file."""
    return cache_folder() / f"{network.stem}-{sha256_of(network)[:12]}.onnx"


class QuickStylizer:
    """A network in ONNX Runtime; what fails is kept for the end, what is too large is left."""

    def __init__(self, options: argparse.Namespace) -> None:
        import onnxruntime

        path, style, sentence = find_network(options.style)
        record = header_of(path)["record"]
        self.options, self.left = options, list[Item]()
        self.scale = options.style_scale or 1.0
        self.shorter = max(1, round(record.get("painting_size", PAINTING) / self.scale))
        self._session = onnxruntime.InferenceSession(
            str(_file(path)), providers=["CPUExecutionProvider"]
        )
        self._mixture: dict[str, Any] = {}
        if len(self._session.get_inputs()) > 1:
            weights = mixture(style, record["styles"], str(path))
            self._mixture = {"mixture": np.array(weights, np.float32)}
        print(sentence, file=sys.stderr)

    def work(self, items: list[Item]) -> list[tuple[Path, str]]:
        """Stylise and write every image; the sources that failed, and why."""
        failures = []
        for item in items:
            try:
                if self._painted(item):
                    print(f"{item.source} -> {item.target}", flush=True)
                else:
                    self.left.append(item)
            except Exception as problem:  # it ends this input's work, not the others'
                failures.append((item.source, told(problem)))
        return failures

    def _painted(self, item: Item) -> bool:
        """Read, paint and write one image; False for one that is too large."""
        options = self.options
        photograph, alpha = planes(open_image(item.source))
        _, height, width = photograph.shape
        if options.size:
            sides = shape_along(height, width, options.size)
            photograph = np.clip(reduced(photograph, *sides), 0, 1)
            alpha = None if alpha is None else np.clip(reduced(alpha, *sides), 0, 1)
        _, height, width = photograph.shape
        small, sides = photograph, shape_along(height, width, self.shorter)
        if sides[0] < height:
            small = np.clip(reduced(photograph, *sides), 0, 1)
        if small[0].size > MOST_PIXELS:
            return False
        inputs = {"photograph": small[None], **self._mixture}
        result = np.clip(self._session.run(None, inputs)[0][0], 0, 1)
        if not np.isfinite(result).all():
            raise InputError("the network gave NaN or infinity: its training has failed")
        if small is not photograph:
            result = enlarged(result, small, photograph)
        if options.keep_colours:
            result = keep_colours(photograph, result)
        if options.strength < 1:
            result = photograph + np.float32(options.strength) * (result - photograph)
        write_planes(item.target, result, alpha)
        return True

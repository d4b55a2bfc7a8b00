"""Photographs through a network in ONNX Runtime: the first picture without PyTorch's start."""

import argparse
import logging
from pathlib import Path
from typing import Any

import numpy as np

from triptych.apps.pictures.catalogue import find_network
from triptych.apps.pictures.stylizer import Stylizer, TooLargeError, painted_side
from triptych.apps.pictures.work_list import Item
from triptych.core.files import sha256_of
from triptych.core.packages import cache_folder
from triptych.style.data.image_files import Planes
from triptych.style.network.architecture import Architecture
from triptych.style.network.mixtures import header_of, mixture

MOST_PIXELS = 4e6
"""Painted at once: larger pictures are left to PyTorch, which looks at the memory first."""

MOST_PICTURES = 16
"""More are worth PyTorch's start, since a GPU may be there."""

logger = logging.getLogger(__name__)


def suits(options: argparse.Namespace, items: list[Item]) -> bool:
    """Whether nothing is asked for that needs PyTorch, and the network has its ONNX file."""
    plain = options.precision in ("auto", "float32") and not options.optimize
    few = len(items) <= MOST_PICTURES or options.device == "cpu"
    if not plain or not few or options.device == "cuda":
        return False
    network, _, _ = find_network(options.style)
    return (
        all(item.kind == "image" for item in items)
        and network.suffix.lower() == ".safetensors"
        and _onnx_file(network).is_file()
    )


def _onnx_file(network: Path) -> Path:
    """The network's ONNX file: beside its own, or in the cache (`triptych weights`).

    One that is older than the network is of other weights: it was exported before a training.
    """
    beside = network.with_suffix(".onnx")
    fresh = beside.is_file() and beside.stat().st_mtime_ns >= network.stat().st_mtime_ns
    return beside if fresh else cached(network)


def cached(network: Path) -> Path:
    """Path at which `triptych weights` writes a shipped network's ONNX file."""
    return cache_folder() / f"{network.stem}-{sha256_of(network)[:12]}.onnx"


class OnnxStylizer(Stylizer):
    """A trained network in ONNX Runtime, on the CPU in float32."""

    def __init__(self, options: argparse.Namespace) -> None:
        import onnxruntime

        super().__init__(options)
        path, style, sentence = find_network(options.style)
        header = header_of(path)
        record = header["record"]
        self.least = Architecture(**header["architecture"]).smallest
        self.shorter = painted_side(options, record.get("painting_size"))
        self._session = onnxruntime.InferenceSession(
            str(_onnx_file(path)), providers=["CPUExecutionProvider"]
        )
        self._mixture: dict[str, Any] = {}
        if len(self._session.get_inputs()) > 1:
            weights = mixture(style, record["styles"], str(path))
            self._mixture = {"mixture": np.array(weights, np.float32)}
        logger.info(sentence)

    def render(self, photographs: Planes) -> Planes:
        """Paint photographs [1, 3, H, W]. Raises TooLargeError for more than MOST_PIXELS."""
        if photographs[0, 0].size > MOST_PIXELS:
            raise TooLargeError
        inputs = {"photograph": photographs, **self._mixture}
        results: Planes = np.clip(self._session.run(None, inputs)[0], 0, 1)
        return results

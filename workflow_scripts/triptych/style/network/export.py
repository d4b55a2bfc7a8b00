"""The transformation network as ONNX, which takes what the network takes: float32 [N, 3, H, W] in
[0, 1], of `Architecture.smallest` pixels or more each way."""

import copy
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import exported
from triptych.style.network.network import Styled, TransformationNetwork

INPUT, MIXTURE, OUTPUT = "photograph", "mixture", "stylised"
ONNX_VERSION = "onnxruntime_version"

TOLERANCE = 1e-3
"""Largest allowed difference to PyTorch's float32 output, images in [0, 1]: a quarter level."""

PARITY_SIZES = ((1, 64, 64), (2, 97, 131), (1, 203, 160))
"""Batch, height and width; multiples of 4 and not, batches other than the traced one's."""


def export_onnx(path: str | os.PathLike[str], network: TransformationNetwork) -> None:
    """Write `network` as an ONNX file whose three sizes are free."""
    example = torch.rand(2, 3, 70, 93)  # no size of which is special: 1 or a multiple of 4
    free = torch.export.Dim.DYNAMIC
    sizes = ({0: free, 2: free, 3: free},)
    model = copy.deepcopy(network).cpu().eval()
    _write(path, exported(model, (example,), [INPUT], OUTPUT, sizes).model_proto)


def export_styles(path: str | os.PathLike[str], network: TransformationNetwork) -> None:
    """Write a network of S styles, of one photograph and a mixture [S] that sums to 1."""
    count, free = network.architecture.styles, torch.export.Dim.DYNAMIC
    example = torch.rand(1, 3, 71, 93), torch.full((count,), 1 / count)
    sizes: Any = ({2: free, 3: free}, {})
    mixed = _Mixed(copy.deepcopy(network).cpu().eval())
    _write(path, exported(mixed, example, [INPUT, MIXTURE], OUTPUT, sizes).model_proto)


class _Mixed(torch.nn.Module):
    """A conditional network as a function of the photograph and the mixture of its styles."""

    def __init__(self, network: TransformationNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor, mixture: torch.Tensor) -> torch.Tensor:
        return Styled(self.network, mixture)(images)


def _write(path: str | os.PathLike[str], model: Any) -> None:
    graph = model.graph
    # The exporter's stack traces name this machine's folders, and differ from export to export.
    parts = (graph.node, graph.value_info, graph.initializer, graph.input, graph.output, [graph])
    for part in parts:
        for item in part:
            item.ClearField("metadata_props")
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


def parity(
    path: str | os.PathLike[str],
    network: TransformationNetwork,
    sizes: Sequence[tuple[int, int, int]] = PARITY_SIZES,
) -> pd.DataFrame:
    """Largest difference between ONNX Runtime and PyTorch, one row a size.

    Columns: height, width, largest_difference (images in [0, 1]), onnxruntime_version. Raises
    InputError when a difference exceeds TOLERANCE.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    network = network.cpu().eval()
    rows = []
    for batch, height, width in sizes:
        generator = keyed_generator(torch.device("cpu"), "parity", batch, height, width)
        images = torch.rand(batch, 3, height, width, generator=generator)
        with torch.no_grad():
            expected = network(images).numpy()
        found = session.run([OUTPUT], {INPUT: images.numpy()})[0]
        largest = float(np.abs(found - expected).max())
        if not largest <= TOLERANCE:
            raise InputError(
                f"the exported network differs from PyTorch's by {largest:.2g} at "
                f"{height}x{width}: torch and onnxruntime {onnxruntime.__version__} do not agree"
            )
        rows.append((height, width, largest, onnxruntime.__version__))
    return pd.DataFrame(rows, columns=["height", "width", "largest_difference", ONNX_VERSION])

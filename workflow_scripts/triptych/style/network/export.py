"""The transformation network as ONNX, which takes what the network takes: float32 [N, 3, H, W] in
[0, 1], of `Architecture.smallest` pixels or more each way."""

import copy
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from triptych.core.device import keyed_generator
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import exported
from triptych.style.network.network import ReflectedConvolution, Styled, TransformationNetwork

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
    _write(path, exported(_quick(network), (example,), [INPUT], OUTPUT, sizes).model_proto)


def export_styles(path: str | os.PathLike[str], network: TransformationNetwork) -> None:
    """Write a network of S styles, of one photograph and a mixture [S] that sums to 1."""
    count, free = network.architecture.styles, torch.export.Dim.DYNAMIC
    example = torch.rand(1, 3, 71, 93), torch.full((count,), 1 / count)
    sizes: Any = ({2: free, 3: free}, {})
    mixed = _Mixed(_quick(network))
    _write(path, exported(mixed, example, [INPUT, MIXTURE], OUTPUT, sizes).model_proto)


class _Mixed(torch.nn.Module):
    """A conditional network as a function of the photograph and the mixture of its styles."""

    def __init__(self, network: TransformationNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor, mixture: torch.Tensor) -> torch.Tensor:
        return Styled(self.network, mixture)(images)


def _quick(network: TransformationNetwork) -> TransformationNetwork:
    """The same function, whose last layer ONNX Runtime computes three times as fast."""
    network = copy.deepcopy(network).cpu().eval()
    if isinstance(network.deconv3, ReflectedConvolution):
        network.add_module("deconv3", _FourPixels(network.deconv3))
    return network


class _FourPixels(torch.nn.Module):
    """A reflected convolution of an even height and width, four neighbouring pixels at once.

    As 12 channels of half the size instead of 3: ONNX Runtime pads both to 16.
    """

    def __init__(self, whole: ReflectedConvolution) -> None:
        super().__init__()
        weight, bias = whole.conv2d.weight.detach(), whole.conv2d.bias
        assert bias is not None
        outputs, inputs, side, _ = weight.shape
        larger = weight.new_zeros(outputs, 2, 2, inputs, side + 1, side + 1)
        for row in range(2):
            for column in range(2):
                larger[:, row, column, :, row : row + side, column : column + side] = weight
        self.margin = whole.margin
        self.register_buffer("weight", larger.flatten(0, 2))
        self.register_buffer("bias", bias.detach().repeat_interleave(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[N, C, H, W] -> [N, C', H, W]"""
        padded = functional.pad(x, (self.margin,) * 4, mode="reflect")
        pixels = functional.conv2d(padded, self.get_buffer("weight"), self.get_buffer("bias"), 2)
        return functional.pixel_shuffle(pixels, 2)


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

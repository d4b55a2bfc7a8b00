"""A transformation network as ONNX: `photograph` [N, 3, H, W] and `mixture` [S] to `stylised`."""

import copy
import os
from typing import Any

import torch

from triptych.core.files import atomic_path
from triptych.core.weights import exported
from triptych.style.network.network import Styled, TransformationNetwork


def export_styles(path: str | os.PathLike[str], network: TransformationNetwork) -> None:
    """Write a network of S styles as ONNX, of photographs in [0, 1] and a mixture that sums to 1.

    Height and width are free, of `Architecture.smallest` pixels or more.
    """
    count, free = network.architecture.styles, torch.export.Dim.DYNAMIC
    example = torch.rand(1, 3, 71, 93), torch.full((count,), 1 / count)
    sizes: Any = ({2: free, 3: free}, {})
    mixed = _Mixed(copy.deepcopy(network).cpu().eval())
    program = exported(mixed, example, ["photograph", "mixture"], "stylised", sizes)
    model: Any = program.model_proto
    graph = model.graph
    # The exporter's stack traces name this machine's folders, and differ from export to export.
    parts = (graph.node, graph.value_info, graph.initializer, graph.input, graph.output, [graph])
    for part in parts:
        for item in part:
            item.ClearField("metadata_props")
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


class _Mixed(torch.nn.Module):
    """A conditional network as a function of the photograph and the mixture of its styles."""

    def __init__(self, network: TransformationNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor, mixture: torch.Tensor) -> torch.Tensor:
        return Styled(self.network, mixture)(images)

"""The ONNX file in ONNX Runtime against the network in PyTorch."""

import pytest
import torch

from triptych.core.errors import InputError
from triptych.style.network.export import PARITY_SIZES, export_onnx, parity
from triptych.style.network.network import Architecture, TransformationNetwork


def network(upsampling="nearest", blocks=(0, 2), palette=True, seed=0):
    torch.manual_seed(seed)
    made = TransformationNetwork(Architecture(4, upsampling, blocks, palette, 2 * palette))
    torch.nn.init.normal_(made.deconv3.conv2d.weight)
    return made.eval()


@pytest.mark.slow
def test_any_size_and_batch_gives_what_pytorch_gives(tmp_path):
    path = tmp_path / "network.onnx"
    export_onnx(path, network())
    sizes = (*PARITY_SIZES, (3, 32, 32), (1, 33, 50), (1, 47, 39))
    table = parity(path, network(), sizes)
    assert table["height"].tolist() == [size[1] for size in sizes]
    assert table["largest_difference"].max() < 1e-4
    with pytest.raises(InputError, match=r"differs from PyTorch's by .* at 64x64"):
        parity(path, network(seed=1))

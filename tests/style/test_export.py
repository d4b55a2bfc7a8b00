"""The ONNX file in ONNX Runtime against the network in PyTorch."""

import pandas as pd
import pytest
import torch

from triptych.core.errors import InputError
from triptych.style.network.export import (
    PARITY_SIZES,
    TOLERANCE,
    check_parity,
    export_onnx,
    parity,
)
from triptych.style.network.network import Architecture, TransformationNetwork


def network(upsampling="nearest", blocks=(0, 2), palette=True, seed=0):
    torch.manual_seed(seed)
    made = TransformationNetwork(Architecture(4, upsampling, blocks, palette, 2 * palette))
    torch.nn.init.normal_(made.deconv3.conv2d.weight)
    return made.eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "network.onnx"
    export_onnx(path, network())
    return path


@pytest.mark.slow
def test_any_size_and_batch_gives_what_pytorch_gives(exported):
    sizes = (*PARITY_SIZES, (3, 32, 32), (1, 33, 50), (1, 47, 39))
    table = parity(exported, network(), sizes)
    assert table.columns.tolist() == [
        "height",
        "width",
        "largest_difference",
        "onnxruntime_version",
    ]
    assert table["height"].tolist() == [size[1] for size in sizes]
    assert table["largest_difference"].max() < 1e-4
    check_parity(table)


@pytest.mark.slow
def test_the_file_is_valid_whole_and_names_its_sizes(exported):
    import onnx

    model = onnx.load(exported)
    onnx.checker.check_model(model, full_check=True)
    (given,) = model.graph.input
    shape = given.type.tensor_type.shape.dim
    assert [bool(dimension.dim_param) for dimension in shape] == [True, False, True, True]
    assert shape[1].dim_value == 3
    assert sorted(path.name for path in exported.parent.iterdir()) == ["network.onnx"]


@pytest.mark.parametrize("difference", [2 * TOLERANCE, float("nan")])
def test_a_difference_above_the_tolerance_is_an_error(difference):
    table = pd.DataFrame(
        {
            "height": [20, 30],
            "width": [20, 40],
            "largest_difference": [0.0, difference],
            "onnxruntime_version": "1",
        }
    )
    with pytest.raises(InputError, match="30x40"):
        check_parity(table)

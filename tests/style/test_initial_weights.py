"""Networks that begin with a finished network's weights."""

from dataclasses import replace

import pytest
import torch

from triptych.core.errors import InputError
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import finished_network, load_network, save_network

SHAPE = Architecture(width=4, blocks=(0,), palette=True, styles=2)


@pytest.fixture
def file(tmp_path):
    """A conditional network of two styles."""
    torch.manual_seed(3)
    network = TransformationNetwork(SHAPE)
    for value in network.parameters():
        value.data += 0.1 * torch.randn_like(value)
    record = {"styles": ["ink", "tiles"], "painting_size": 24}
    save_network(tmp_path / "hands.safetensors", network, record)
    return tmp_path / "hands.safetensors"


@pytest.mark.parametrize("styles", [1, 2])
def test_styles_begin_with_the_mean_of_the_files(file, styles):
    shape = replace(SHAPE, styles=styles)
    begun = finished_network(file, shape)
    ends = [load_network(file, name)[0] for name in ("ink", "tiles")]
    for network in begun.alone():
        assert torch.equal(network.res1.conv1.conv2d.weight, ends[0].res1.conv1.conv2d.weight)
        mean = (ends[0].res1.in1.weight + ends[1].res1.in1.weight) / 2
        torch.testing.assert_close(network.res1.in1.weight, mean)
    assert all(parameter.requires_grad for parameter in begun.parameters())


def test_another_architecture_and_a_network_of_one_style_are_refused(file):
    with pytest.raises(InputError, match=r"width=4.*width=8"):
        finished_network(file, replace(SHAPE, width=8))
    network, record = load_network(file, "ink")
    save_network(file, network, record)
    with pytest.raises(InputError, match=r"hands\.safetensors"):
        finished_network(file, SHAPE)

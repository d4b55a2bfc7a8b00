"""The transformation network against pytorch/examples' written anew, and its files."""

import pytest
import torch
from examples_network import examples_forward, examples_state

from triptych.core.errors import InputError
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import load_network, save_network


@pytest.fixture
def images():
    return torch.rand(2, 3, 24, 32, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
def test_width_32_has_the_published_number_of_parameters(upsampling):
    # Both ways of enlarging have 3x3 kernels between the same numbers of channels.
    network = TransformationNetwork(Architecture(32, upsampling))
    assert sum(each.numel() for each in network.parameters()) == 1_679_235


@pytest.mark.parametrize(("suffix", "width"), [("pth", 32), ("model", 32), ("pt", 8)])
def test_a_checkpoint_of_the_examples_gives_the_examples_output(tmp_path, images, suffix, width):
    upsampling = "nearest" if width == 32 else "transposed"
    state = examples_state(width, upsampling == "transposed")
    torch.save(state, tmp_path / f"mosaic.{suffix}")
    network, record = load_network(tmp_path / f"mosaic.{suffix}")
    assert network.architecture == Architecture(width, upsampling)
    assert record == {"origin": "checkpoint", "file": f"mosaic.{suffix}"}
    with torch.no_grad():
        expected = examples_forward(state, images * 255, upsampling == "transposed") / 255
        torch.testing.assert_close(network(images), expected, rtol=0, atol=2e-5)


def test_a_tiny_image_is_refused_with_its_size():
    with pytest.raises(InputError, match="40x12 pixels"):
        TransformationNetwork(Architecture(4))(torch.rand(1, 3, 12, 40))


def test_a_palette_gives_white_channels_the_paintings_mean_and_covariance():
    generator = torch.Generator().manual_seed(4)
    shift = torch.tensor([1.0, 2, 4])[:, None, None]
    painting = torch.rand(3, 30, 40, generator=generator) ** shift
    palette = TransformationNetwork(Architecture(4, palette=True)).palette
    palette.take([painting])
    white = torch.randn(1, 3, 300, 300, generator=generator)
    ours, theirs = palette(white)[0].flatten(1), painting.flatten(1)
    torch.testing.assert_close(ours.mean(1), theirs.mean(1), rtol=0, atol=5e-3)
    torch.testing.assert_close(torch.cov(ours), torch.cov(theirs), rtol=0.03, atol=5e-4)


def test_a_saved_network_comes_back_with_its_record(tmp_path, images):
    architecture = Architecture(4, "nearest", blocks=(0, 0), palette=True)
    network = TransformationNetwork(architecture)
    torch.nn.init.normal_(network.deconv3.conv2d.weight)
    save_network(tmp_path / "n.safetensors", network, {"painting": "swirls", "batches": 20})
    loaded, record = load_network(tmp_path / "n.safetensors")
    assert record == {"painting": "swirls", "batches": 20}
    assert loaded.architecture == architecture
    assert not loaded.training and not any(p.requires_grad for p in loaded.parameters())
    assert torch.equal(loaded(images), network(images).detach())

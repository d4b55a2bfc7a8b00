"""The transformation network against pytorch/examples' written anew, and its files."""

import pytest
import torch
from examples_network import examples_forward, examples_state
from torch.nn.functional import pad

from triptych.core.errors import InputError
from triptych.style.network.network import (
    Architecture,
    InstanceNorm,
    TransformationNetwork,
)
from triptych.style.network.network_files import load_network, save_network


@pytest.fixture
def images():
    return torch.rand(2, 3, 24, 32, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
def test_width_32_has_the_published_number_of_parameters(upsampling):
    # Both ways of enlarging have 3x3 kernels between the same numbers of channels.
    network = TransformationNetwork(Architecture(32, upsampling))
    assert sum(each.numel() for each in network.parameters()) == 1_679_235


@pytest.mark.parametrize("suffix", ["pth", "model", "pt"])
def test_a_checkpoint_of_the_examples_gives_the_examples_output(tmp_path, images, suffix):
    state = examples_state()
    torch.save(state, tmp_path / f"mosaic.{suffix}")
    network, record = load_network(tmp_path / f"mosaic.{suffix}")
    assert network.architecture == Architecture(32, "nearest")
    assert record == {"origin": "checkpoint", "file": f"mosaic.{suffix}"}
    with torch.no_grad():
        expected = examples_forward(state, images * 255) / 255
        torch.testing.assert_close(network(images), expected, rtol=0, atol=2e-5)


def test_a_checkpoint_with_transposed_convolutions_is_recognised_by_its_shapes(tmp_path, images):
    state = examples_state(width=8, transposed=True)
    torch.save(state, tmp_path / "wave.pth")
    network, _ = load_network(tmp_path / "wave.pth")
    assert network.architecture == Architecture(8, "transposed")
    with torch.no_grad():
        expected = examples_forward(state, images * 255, transposed=True) / 255
        torch.testing.assert_close(network(images), expected, rtol=0, atol=2e-5)


def test_odd_sizes_are_reflected_at_the_bottom_and_the_right(images):
    network = TransformationNetwork(Architecture(4, blocks=(0,)))
    odd = images[..., :23, :30]
    with torch.no_grad():
        whole = network(pad(odd, (0, 2, 0, 1), mode="reflect"))
        torch.testing.assert_close(network(odd), whole[..., :23, :30])


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


def test_a_block_that_halves_sees_farther_and_keeps_the_size():
    def reach(blocks):
        """Pixels of a row that change where one pixel of the photograph does."""
        torch.manual_seed(0)
        network = TransformationNetwork(Architecture(4, "nearest", blocks)).eval()
        for module in network.modules():  # norms see the whole image, whatever the blocks do
            if isinstance(module, InstanceNorm):
                module.forward = lambda x: x
        images = torch.rand(1, 3, 192, 192)
        changed = images.clone()
        changed[..., 96, 96] += 1
        with torch.no_grad():
            return int((network(images) - network(changed)).abs().sum((0, 1, 2)).gt(0).sum())

    # Each 3x3 convolution reaches one of its pixels each way: two of 4 pixels in a plain block.
    plain = reach((0,)) - reach(())
    assert plain == pytest.approx(4 * 4, abs=4)
    assert reach((2,)) - reach(()) > 2 * plain
    assert reach((2,)) < 192


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

"""The transformation network against pytorch/examples' written anew, and its files."""

import json
import pickle

import pytest
import torch
from examples_network import examples_forward, examples_state
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn.functional import pad

from triptych.core.errors import InputError
from triptych.style.feedforward.network import (
    Architecture,
    InstanceNorm,
    TransformationNetwork,
    parameter_count,
)
from triptych.style.feedforward.network_files import load_network, save_network


@pytest.fixture
def images():
    return torch.rand(2, 3, 24, 32, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
def test_width_32_has_the_published_number_of_parameters(upsampling):
    # Both ways of enlarging have 3x3 kernels between the same numbers of channels.
    assert parameter_count(TransformationNetwork(Architecture(32, upsampling))) == 1_679_235


def test_half_the_width_has_a_quarter_of_the_parameters():
    assert parameter_count(TransformationNetwork(Architecture(16))) == 424_899


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


@pytest.mark.parametrize("size", [(16, 16), (17, 19), (22, 33), (64, 21)])
@pytest.mark.parametrize("upsampling", ["transposed", "nearest"])
def test_any_size_comes_out_as_it_went_in(size, upsampling):
    network = TransformationNetwork(Architecture(4, upsampling, blocks=(0,)))
    assert network(torch.rand(1, 3, *size)).shape == (1, 3, *size)


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


def test_images_of_a_batch_do_not_see_each_other(images):
    network = TransformationNetwork(Architecture(4))
    with torch.no_grad():
        torch.testing.assert_close(network(images)[1:], network(images[1:]), rtol=0, atol=1e-5)


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


def test_the_same_network_gives_the_same_bytes_and_one_metadata_key(tmp_path):
    network = TransformationNetwork(Architecture(4))
    for name, record in (("a", {"x": 1, "y": 2}), ("b", {"y": 2, "x": 1})):
        save_network(tmp_path / f"{name}.safetensors", network, record)
    contents = [(tmp_path / f"{name}.safetensors").read_bytes() for name in "ab"]
    assert contents[0] == contents[1]
    with safe_open(tmp_path / "a.safetensors", "pt") as file:
        assert list(file.metadata()) == ["network"]
        assert json.loads(file.metadata()["network"])["architecture"]["width"] == 4


def wrong_files(folder):
    def path(name):
        return folder / name

    save_file({"conv1_1.weight": torch.zeros(1)}, path("backbone.safetensors"))
    path("torn.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    path("text.pth").write_text("not weights")
    path("empty.pth").write_bytes(b"")
    path("code.pth").write_bytes(pickle.dumps(print))
    torch.save([torch.zeros(2)], path("list.pth"))
    torch.save({"features.0.weight": torch.zeros(3)}, path("vgg.pth"))
    state = examples_state(width=4)
    torch.save({k: v for k, v in state.items() if k != "res3.in1.bias"}, path("short.pth"))
    torch.save({**state, "in2.bias": torch.zeros(5)}, path("shape.pth"))
    return {
        "absent.pth": "no such file",
        "backbone.safetensors": "no metadata 'network'",
        "torn.safetensors": "not a safetensors file",
        "text.pth": "plain weights",
        "empty.pth": "plain weights",
        "code.pth": "plain weights",
        "list.pth": "holds list, not only tensors",
        "vgg.pth": "no conv1.conv2d.weight",
        "short.pth": "res3.in1.bias is missing",
        "shape.pth": r"in2.bias is \(5,\), expected \(8,\)",
    }


def test_wrong_files_are_told_apart(tmp_path):
    for name, reason in wrong_files(tmp_path).items():
        with pytest.raises(InputError, match=reason) as error:
            load_network(tmp_path / name)
        assert name in str(error.value)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"upsampling": "bicubic"}, {"blocks": (0, -1)}])
def test_an_impossible_architecture_is_refused(wrong):
    with pytest.raises(InputError):
        Architecture(**wrong)

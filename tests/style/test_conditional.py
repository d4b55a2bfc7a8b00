"""A network of several styles: against one network a style, which shares the convolutions."""

import pytest
import random_networks
import style_training_job as job
import torch

from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.network_files import load_network, save_network
from triptych.style.network.perceptual import PerceptualLoss

SHAPES = {"width": 4, "blocks": (0,), "palette": True}


@pytest.fixture
def several():
    """Three styles with scales, shifts and palettes of their own, in float64."""
    torch.manual_seed(0)
    network = TransformationNetwork(Architecture(**SHAPES, styles=3)).double()
    for value in [*network.parameters(), *network.buffers()]:
        value.data += 0.3 * torch.randn_like(value)
    return network


def test_each_image_is_stylised_as_by_its_styles_own_network(several):
    images = torch.rand(4, 3, 24, 21, dtype=torch.float64)
    styles = torch.tensor([2, 0, 0, 1])
    styled, alone = several.of_each(styles), several.alone()
    with torch.no_grad():
        expected = torch.cat([alone[s](images[i : i + 1]) for i, s in enumerate(styles)])
        assert torch.allclose(styled(images), expected, atol=1e-12)
    assert not torch.allclose(expected[1:2], alone[2](images[1:2]), atol=1e-3)


def test_gradients_are_those_of_networks_of_one_style(several):
    images = torch.rand(3, 3, 16, 16, dtype=torch.float64)
    styles = torch.tensor([1, 0, 1])
    several.of_each(styles)(images).square().sum().backward()
    alone = [network.train().requires_grad_(True) for network in several.alone()]
    for i, style in enumerate(styles):
        alone[style](images[i : i + 1]).square().sum().backward()
    own = several.of_styles()
    for name, parameter in several.named_parameters():
        others = [dict(network.named_parameters())[name].grad for network in alone]
        zero = torch.zeros_like(others[0])
        others = [zero if other is None else other for other in others]
        expected = torch.stack(others) if name in own else sum(others)
        assert torch.allclose(parameter.grad, expected, rtol=1e-9, atol=1e-9), name


def test_a_file_of_several_styles_gives_one_or_a_mixture(tmp_path, several):
    path = tmp_path / "hands.safetensors"
    save_network(path, several.float(), {"styles": ["swirls", "ink", "tiles"]})
    alone = several.alone()
    ink, record = load_network(path, "ink")
    assert record["style"] == "ink" and ink.architecture.styles == 1
    for name, value in ink.state_dict().items():
        assert torch.equal(value, alone[1].state_dict()[name].half().float()), name
    mixed, _ = load_network(path, "swirls:1+tiles:3")
    assert torch.allclose(
        mixed.in1.bias, 0.25 * alone[0].in1.bias + 0.75 * alone[2].in1.bias, rtol=1e-3
    )


def test_the_loss_compares_each_image_with_its_styles_painting():
    backbone = random_networks.backbone("vgg16")
    paintings = [job.painting(), job.painting().flip(0), 1 - job.painting()]
    images, stylised = torch.rand(3, 3, 32, 32), torch.rand(3, 3, 32, 32)
    styles = torch.tensor([2, 0, 0])
    terms = PerceptualLoss(backbone, job.LOSSES, paintings).terms(images, stylised, styles)
    each = [
        PerceptualLoss(backbone, job.LOSSES, [paintings[s]]).terms(
            images[i : i + 1], stylised[i : i + 1]
        )
        for i, s in enumerate(styles)
    ]
    for name in ("content", "style"):
        assert terms[name] == pytest.approx(sum(float(one[name]) for one in each) / 3, rel=1e-5)

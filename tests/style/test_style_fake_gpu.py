"""Every forward pass of the style study on a GPU without values: no tensor is left on the CPU."""

import pytest
import torch
from fake_gpu import CUDA, fake_gpu, moved

from triptych.core.device import training_precision
from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.data.backbone import IMAGENET_MEAN, IMAGENET_STD, Backbone, normalised
from triptych.style.network.architecture import Architecture
from triptych.style.network.fast import PreparedNetwork
from triptych.style.network.network import TransformationNetwork
from triptych.style.network.perceptual import LossSettings, PerceptualLoss
from triptych.style.optimise.choices import methods, preset
from triptych.style.optimise.gatys import initial_images
from triptych.style.optimise.objective import Objective


def shaped_backbone(architecture, pooling):
    known = ARCHITECTURES[architecture]
    weights = {name: torch.empty(shape) for name, shape in known.shapes().items()}
    return Backbone(known, weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling)


@pytest.fixture(autouse=True)
def gpu():
    with fake_gpu():
        yield


def images(*shape):
    return torch.rand(*shape, device=CUDA)


def network(**choices):
    return moved(lambda: TransformationNetwork(Architecture(**{"width": 8, **choices})))


@pytest.mark.parametrize(
    ("upsampling", "palette", "precision"),
    [("nearest", True, "bf16"), ("transposed", False, "float32"), ("transposed", True, "fp16")],
)
def test_a_prepared_network_stays_on_the_gpu(upsampling, palette, precision):
    prepared = PreparedNetwork(network(upsampling=upsampling, palette=palette), precision)
    stylised = prepared(images(2, 3, 64, 72))
    assert (stylised.device.type, stylised.shape) == ("cuda", (2, 3, 64, 72))


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16", "fp16"])
def test_a_training_s_losses_stay_on_the_gpu(precision, paper_config):
    settings = LossSettings(**paper_config["style"]["losses"])
    loss = PerceptualLoss(shaped_backbone("vgg16", "max").to(CUDA), settings, [images(3, 64, 85)])
    photographs = torch.zeros(2, 3, 64, 64, dtype=torch.uint8).to(CUDA).float() / 255
    with training_precision(CUDA, precision):
        terms = loss.terms(photographs, network()(photographs))
    assert {term.device.type for term in terms.values()} == {"cuda"}


@pytest.mark.parametrize("name", methods("presets"))
@pytest.mark.parametrize(
    ("architecture", "precision"), [("vgg19", "bf16"), ("alexnet", "float32"), ("alexnet", "tf32")]
)
def test_version_1_s_losses_stay_on_the_gpu(architecture, name, precision):
    choices = preset(name, architecture, precision=precision)
    content, painting = [images(3, 96, 96)], [images(3, 96, 96)]
    backbone = shaped_backbone(architecture, choices.pooling).to(CUDA)
    objective = Objective(backbone, choices, content, painting)
    start = initial_images(content, painting, choices)
    assert objective.terms(start).total.device.type == "cuda"


@pytest.mark.parametrize("architecture", ["vgg19", "alexnet"])
def test_a_backbone_stays_on_the_gpu_when_it_is_normalised(architecture):
    backbone = normalised(shaped_backbone(architecture, "avg").to(CUDA), [images(2, 3, 96, 96)])
    assert {tensor.device.type for tensor in backbone.buffers()} == {"cuda"}

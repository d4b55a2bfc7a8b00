"""The named presets: layers that exist, and what the paper's text and the notebook say."""

import pytest

from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.optimise.presets import PRESETS, preset


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_preset_names_layers_that_the_architecture_has(name: str, architecture: str) -> None:
    choices = preset(name, architecture)
    assert set(choices.layers) <= set(ARCHITECTURES[architecture].layer_names)
    assert len(choices.layer_weights) == len(choices.style_layers)


def test_paper_is_what_the_text_says() -> None:
    choices = preset("paper", "vgg19")
    assert choices.pooling == "average"
    assert choices.normalised
    assert choices.content_layer == "relu4_2"
    assert choices.style_layers == ("relu1_1", "relu2_1", "relu3_1", "relu4_1", "relu5_1")
    assert choices.scaling == "equation"
    assert choices.style_weight > choices.content_weight
    assert (choices.content_loss, choices.optimizer) == ("mse", "lbfgs")
    assert (choices.initialisation, choices.clamp) == ("content", "end")


def test_authors_is_what_the_notebook_ran() -> None:
    choices = preset("authors", "vgg19")
    assert choices.pooling == "max"
    assert not choices.normalised
    assert choices.content_layer == "conv5_3"
    assert choices.style_layers == (
        "conv1_1",
        "conv2_1",
        "conv3_1",
        "conv4_1",
        "conv5_1",
        "conv5_4",
    )
    assert (choices.content_weight, choices.style_weight) == (1.0, 1e6)
    assert (choices.scaling, choices.clamp, choices.history) == ("mean", "closure", 100)
    assert preset("authors", "alexnet").content_layer == "conv5"
    assert preset("authors", "vgg19", optimizer="adam").learning_rate == 1e-3
    sgd = preset("authors", "vgg19", optimizer="sgd")
    assert (sgd.learning_rate, sgd.momentum, sgd.normalised_gradient) == (0.01, 0.8, False)

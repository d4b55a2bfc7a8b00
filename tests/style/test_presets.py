"""The named presets: layers that exist, and what the paper's text and the notebook say."""

from dataclasses import replace

import pytest

from triptych.style.backbones.architectures import ARCHITECTURES, ORIENTED
from triptych.style.optimisation.presets import OPTIMIZERS, PRESETS, preset


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_preset_names_layers_that_the_architecture_has(name: str, architecture: str) -> None:
    choices = preset(name, architecture)
    assert set(choices.layers) - set(ORIENTED) <= set(ARCHITECTURES[architecture].layer_names)
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


@pytest.mark.parametrize("name", PRESETS)
def test_only_authors_clamps_in_the_closure(name: str) -> None:
    assert (preset(name, "vgg19").clamp == "closure") == (name == "authors")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("rates", ["authors", "tuned"])
def test_rates_do_not_depend_on_the_preset(optimizer: str, rates: str) -> None:
    found = {
        (choices.learning_rate, choices.momentum, choices.normalised_gradient, choices.history)
        for choices in (preset(name, "vgg19", optimizer=optimizer, rates=rates) for name in PRESETS)
    }
    assert len(found) == 1


def test_single_choices_can_be_changed() -> None:
    plain = preset("tuned", "narrow_vgg")
    assert preset("tuned", "narrow_vgg", history=3) == replace(plain, history=3)
    assert preset("tuned", "narrow_vgg", optimizer="adam", learning_rate=0.5).learning_rate == 0.5


@pytest.mark.parametrize(
    ("name", "architecture", "changes", "message"),
    [
        ("pretty", "vgg19", {}, "no preset 'pretty'; expected one of paper, authors, tuned"),
        ("paper", "resnet", {}, "'resnet'; expected one of vgg16, vgg19"),
        ("paper", "vgg19", {"colour": 1}, "colour: no such choice"),
        ("paper", "vgg19", {"optimizer": "lion"}, "optimizer is 'lion'; expected one of lbfgs"),
        ("paper", "vgg19", {"rates": "fast"}, "rates is 'fast'"),
        ("paper", "vgg19", {"layer_weights": (1.0,)}, "1 layer_weights for 5 style_layers"),
    ],
)
def test_unknown_names_are_refused(
    name: str, architecture: str, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        preset(name, architecture, **changes)

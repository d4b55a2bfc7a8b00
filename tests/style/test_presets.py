"""Presets of Version 1: layers that exist, and values typed from the paper and the notebook."""

import pytest

from triptych.style.data.architectures import ARCHITECTURES
from triptych.style.optimise.choices import methods, preset

FIRST_OF_FIVE_STAGES = tuple(f"relu{stage}_1" for stage in range(1, 6))
SAID = {  # (preset, optimizer): choices on VGG-19, from section IV-A and the notebook's cells
    ("paper", "lbfgs"): {
        "pooling": "average",  # IV-A 3
        "normalised": True,  # IV-A 3
        "style_layers": FIRST_OF_FIVE_STAGES,  # IV-A 6
        "initialisation": "content",  # IV-A 2
        "aspect": "squashed",  # IV-A 1
        "scaling": "equation",  # Eq. 1 and 3
        "content_loss": "mse",  # Eq. 1
        "style_loss": "gram",  # Eq. 3 and 4
    },
    ("authors", "lbfgs"): {
        "content_layer": "conv5_3",
        "style_weight": 1e6,
        "history": 100,
        "clamp": "closure",
    },
    ("authors", "adam"): {"learning_rate": 1e-3},
    ("authors", "sgd"): {"learning_rate": 0.01, "momentum": 0.8, "normalised_gradient": False},
}


@pytest.mark.parametrize("name", methods("presets"))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_preset_names_layers_that_the_architecture_has(name, architecture):
    choices = preset(name, architecture)
    assert set(choices.layers) <= set(ARCHITECTURES[architecture].layer_names)
    assert len(choices.layer_weights) == len(choices.style_layers)


@pytest.mark.parametrize(("name", "optimizer"), SAID)
def test_a_preset_is_what_its_source_says(name, optimizer):
    choices = vars(preset(name, "vgg19", optimizer=optimizer))
    said = SAID[name, optimizer]
    assert {key: choices[key] for key in said} == said


def test_notebooks_style_layers_are_its_convolutions_by_number():
    convolutions = [name for name in ARCHITECTURES["vgg19"].layer_names if name.startswith("conv")]
    choices = preset("authors", "vgg19")
    assert choices.style_layers == tuple(convolutions[n - 1] for n in (1, 3, 5, 9, 13, 16))
    assert choices.content_layer == convolutions[15 - 1]

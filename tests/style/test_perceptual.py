"""Eq. 5 and 6 against their formulas written out, and the terms beyond the paper."""

import pytest
import random_networks
import torch

from triptych.style.data.backbone import Backbone
from triptych.style.data.colours import colours_of, recoloured
from triptych.style.network.perceptual import EVEN, LossSettings, PerceptualLoss

LAYERS = ("relu1_2", "relu2_2", "relu3_2", "relu4_2")


def settings(**changes):
    weights = dict.fromkeys(("content_weight", "style_weight", "total_variation_weight"), 1.0)
    given = {"content_layers": ("relu2_2",), "style_layers": LAYERS, "scaling": "equation"}
    return LossSettings(**{**weights, **given, **changes})


def random(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def backbone():
    return random_networks.backbone("vgg16", dtype=torch.float64)


@pytest.fixture(scope="module")
def images():
    return random(2, 3, 32, 24).double()


@pytest.fixture(scope="module")
def stylised():
    return random(2, 3, 32, 24, seed=1).double()


@pytest.fixture(scope="module")
def painting():
    return random(3, 40, 28, seed=2).double()


def gram(features):
    """Johnson et al. 2016: sums over positions of products, over C H W, entry by entry."""
    _, channels, height, width = features.shape
    products = torch.einsum("nihw,njhw->nij", features, features)
    return products / (channels * height * width)


@pytest.mark.parametrize("layers", [("relu2_2",), ("relu1_2", "relu3_2")])
def test_the_equations_are_eq_5_and_6(backbone, images, stylised, painting, layers):
    loss = PerceptualLoss(backbone, settings(content_layers=layers), [painting])
    terms = loss.terms(images, stylised)
    generated, original = backbone(stylised, LAYERS), backbone(images, LAYERS)
    target = backbone(painting[None], LAYERS)
    content = [
        sum(
            (generated[name][n] - original[name][n]).pow(2).sum() / original[name][n].numel()
            for name in layers
        )
        for n in range(2)
    ]
    style = [
        sum((gram(generated[name])[n] - gram(target[name])[0]).pow(2).sum() for name in LAYERS)
        for n in range(2)
    ]
    torch.testing.assert_close(terms["content"], sum(content) / 2)
    torch.testing.assert_close(terms["style"], sum(style) / 2)


def test_mean_is_the_examples_mse_of_gram_matrices(backbone, images, stylised, painting):
    loss = PerceptualLoss(backbone, settings(scaling="mean", style_weight=1e10), [painting])
    generated, target = backbone(stylised, LAYERS), backbone(painting[None], LAYERS)
    expected = sum(
        torch.nn.functional.mse_loss(
            gram(generated[name]), gram(target[name]).expand_as(gram(generated[name]))
        )
        for name in LAYERS
    )
    torch.testing.assert_close(loss.terms(images, stylised)["style"], 1e10 * expected)


def test_relative_losses_do_not_depend_on_the_scale_of_a_layers_activations(
    images, stylised, painting, backbone
):
    weights = dict(backbone.weights)
    # Eight times the first layer and an eighth of the second: relu1_1 alone is changed.
    for key in ("conv1_1.weight", "conv1_1.bias"):
        weights[key] = weights[key] * 8
    weights["conv1_2.weight"] = weights["conv1_2.weight"] / 8
    rescaled = Backbone(
        backbone.architecture, weights, mean=backbone.mean, std=backbone.std, pooling="max"
    )
    chosen = settings(
        scaling="relative", style_layers=("relu1_1", "relu2_1"), content_layers=("relu1_1",)
    )
    values = [
        PerceptualLoss(network, chosen, [painting]).terms(images, stylised)
        for network in (backbone, rescaled)
    ]
    torch.testing.assert_close(values[0], values[1])


def test_what_no_file_can_hold_is_a_term_and_hardly_seen_by_the_others(
    backbone, images, stylised, painting
):
    loss = PerceptualLoss(backbone, settings(gamut_weight=2.0), [painting])
    plain = PerceptualLoss(backbone, settings(), [painting])
    glaring = 3 * stylised - 1
    terms = loss.terms(images, glaring)
    outside = (glaring - 1).clamp_min(0) + glaring.clamp_max(0)
    torch.testing.assert_close(terms["gamut"], 2 * outside.pow(2).mean())
    seen = plain.terms(images, torch.where(outside == 0, glaring, glaring - 0.9 * outside))
    for name, value in seen.items():
        torch.testing.assert_close(terms[name], value)
    assert loss.terms(images, stylised)["gamut"] == 0
    assert "gamut" not in plain.terms(images, glaring)


def test_the_tone_is_the_colour_of_patches_in_the_paintings_colours(backbone, painting):
    """Of 16 pixels a side; a photograph in the painting's own colours has no tone to lose."""
    loss = PerceptualLoss(backbone, settings(tone_weight=3.0), [painting])
    photographs, others = (
        random(2, 3, 32, 48, seed=4).double(),
        random(2, 3, 32, 48, seed=5).double(),
    )
    copies = recoloured(photographs, colours_of([painting] * 2), EVEN)
    blocks = (others - copies).unfold(2, 16, 16).unfold(3, 16, 16)  # [2, 3, 2, 3, 16, 16]
    found = loss.terms(photographs, others)["tone"]
    expected = 3 * blocks.mean((-2, -1)).square().mean()
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=0)
    assert loss.terms(photographs, copies)["tone"] < 1e-12

"""Eq. 5 and 6 against their formulas written out, and the two terms beyond the paper."""

import pytest
import torch

from triptych.core.errors import InputError
from triptych.style.backbones.backbone import ARCHITECTURES, Backbone
from triptych.style.feedforward.perceptual import LossSettings, PerceptualLoss, overlap

LAYERS = ("relu1_2", "relu2_2", "relu3_2", "relu4_2")


def settings(**changes):
    given = {
        "content_layers": ("relu2_2",),
        "style_layers": LAYERS,
        "scaling": "equation",
        "content_weight": 1.0,
        "style_weight": 1.0,
        "total_variation_weight": 1.0,
    }
    return LossSettings(**{**given, **changes})


def random(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def backbone():
    generator = torch.Generator().manual_seed(3)
    weights = {
        key: torch.randn(shape, generator=generator)
        * (2 / (shape[1] * 9) if len(shape) == 4 else 0.01) ** 0.5
        for key, shape in ARCHITECTURES["narrow_vgg"].shapes().items()
    }
    return Backbone(
        ARCHITECTURES["narrow_vgg"], weights, mean=(0.4,) * 3, std=(0.3,) * 3, pooling="max"
    ).double()


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


def test_a_black_image_has_a_relative_style_loss_near_one_a_layer(images, painting, backbone):
    weights = {k: v * (not k.endswith("bias")) for k, v in backbone.weights.items()}
    unbiased = Backbone(
        backbone.architecture, weights, mean=(0.0,) * 3, std=(1.0,) * 3, pooling="max"
    )
    loss = PerceptualLoss(unbiased, settings(scaling="relative"), [painting])
    style = loss.terms(images, torch.zeros_like(images))["style"]
    torch.testing.assert_close(style, torch.tensor(float(len(LAYERS))).double())


def test_total_variation_is_that_of_the_stylised_image(backbone, images, stylised, painting):
    loss = PerceptualLoss(backbone, settings(total_variation_weight=3.0), [painting])
    expected = stylised.diff(dim=3).pow(2).mean() + stylised.diff(dim=2).pow(2).mean()
    torch.testing.assert_close(loss.terms(images, stylised)["total_variation"], 3 * expected)


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


@pytest.mark.parametrize("kind", ["content", "style"])
def test_a_loss_without_layers_is_refused(kind):
    with pytest.raises(InputError, match=f"no {kind} layers"):
        settings(**{f"{kind}_layers": ()})


def test_settings_come_from_a_table_with_lists():
    table = {
        "content_layers": ["relu2_2"],
        "style_layers": ["relu1_2", "relu2_2"],
        "scaling": "relative",
        "content_weight": 1,
        "style_weight": 2,
        "total_variation_weight": 3,
    }
    made = LossSettings.from_table(table)
    assert made.style_layers == ("relu1_2", "relu2_2")
    assert hash(made)


def test_no_gradient_flows_to_the_photograph_and_the_branch_stops_at_its_layer(
    backbone, images, painting, monkeypatch
):
    loss = PerceptualLoss(backbone, settings(content_layers=("relu1_2",)), [painting])
    convolutions = []
    original = torch.nn.functional.conv2d
    monkeypatch.setattr(
        "triptych.style.backbones.backbone.functional.conv2d",
        lambda *arguments: convolutions.append(1) or original(*arguments),
    )
    watched = images.clone().requires_grad_()
    targets = loss.content_targets(watched)
    assert len(convolutions) == 2
    assert list(targets) == ["relu1_2"]
    assert not targets["relu1_2"].requires_grad


def test_the_gradient_is_that_of_finite_differences(backbone, images, stylised, painting):
    loss = PerceptualLoss(
        backbone, settings(scaling="relative", style_layers=("relu1_2",)), [painting]
    )

    def total(image):
        return torch.stack(list(loss.terms(images[:1, :, :8, :8], image).values())).sum()

    assert torch.autograd.gradcheck(total, stylised[:1, :, :8, :8].clone().requires_grad_())


def test_bf16_losses_are_close_and_their_gram_matrices_float32(backbone, images, painting):
    single = Backbone(
        backbone.architecture,
        {key: value.float() for key, value in backbone.weights.items()},
        mean=backbone.mean,
        std=backbone.std,
        pooling="max",
    )
    loss = PerceptualLoss(single, settings(scaling="relative"), [painting.float()])
    x, y = images.float(), random(2, 3, 32, 24, seed=1)
    exact = loss.terms(x, y)
    with torch.autocast("cpu", torch.bfloat16):
        rough = loss.terms(x, y)
    assert rough["style"].dtype == torch.float32
    for name, value in exact.items():
        torch.testing.assert_close(rough[name], value, rtol=0.03, atol=0)


@pytest.mark.parametrize(("down", "right"), [(0, 0), (2, 0), (-1, 3), (-2, -2)])
def test_overlap_is_what_a_moved_camera_still_sees(down, right):
    image = torch.arange(48.0).view(1, 1, 6, 8)
    seen = overlap(image, down, right)
    rolled = image.roll((-down, -right), (2, 3))
    rows = slice(max(0, -down), 6 - max(0, down))
    columns = slice(max(0, -right), 8 - max(0, right))
    assert torch.equal(seen, rolled[..., rows, columns])


def test_the_temporal_term_is_zero_for_what_moves_with_the_camera(backbone, images, painting):
    still = PerceptualLoss(backbone, settings(temporal_weight=2.0, noise=0.0), [painting])

    def negative(x):
        return 1 - x

    def by_position(x):
        ramp = torch.arange(x.shape[-1]).double() / 10
        return x + ramp

    def value(loss, network, seed):
        generator = torch.Generator().manual_seed(seed)
        disturbance = loss.disturbance(images, generator)
        return loss.temporal(network, images, network(images), disturbance).item()

    assert all(value(still, negative, seed) == 0 for seed in range(4))
    assert max(value(still, by_position, seed) for seed in range(4)) > 0.01
    noisy = PerceptualLoss(backbone, settings(temporal_weight=2.0, noise=0.1), [painting])
    assert value(noisy, negative, 0) == pytest.approx(2 * 0.1**2, rel=0.1)


@pytest.mark.parametrize("wrong", [{"scaling": "absolute"}, {"style_layers": ()}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError):
        settings(**wrong)

"""Backbones against torchvision's own networks and closed forms."""

import json
from pathlib import Path

import pytest
import torch
import torchvision
from random_networks import backbone as backbone_of
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn import functional

from triptych.apps.pictures.catalogue import backbone_file
from triptych.core.errors import InputError
from triptych.style.data.backbone import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    from_torchvision,
    load_backbone,
    mean_activations,
    normalised,
    save_backbone,
)

SHIPPED = Path(__file__).parents[2] / "resources" / "style"


def record_of(path):
    """What a backbone's file says of itself."""
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["backbone"])


def random_images(*shape, dtype=torch.float32, seed=1):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def features_of_torchvision(name):
    """Random weights; torchvision's whole VGG would fill 500 MB with its classifier."""
    torch.manual_seed(0)
    if name == "alexnet":
        return torchvision.models.alexnet(weights=None).features.eval()
    plan = torchvision.models.vgg.cfgs[{"vgg16": "D", "vgg19": "E"}[name]]
    return torchvision.models.vgg.make_layers(plan).eval()


@pytest.mark.parametrize("name", ["vgg16", "vgg19", "alexnet"])
def test_every_layer_equals_torchvisions_own_network(name):
    theirs = features_of_torchvision(name)
    for module in theirs:
        if isinstance(module, torch.nn.ReLU):
            module.inplace = False
    state = {f"features.{key}": value for key, value in theirs.state_dict().items()}
    state["classifier.0.weight"] = torch.zeros(1)
    ours = Backbone(
        ARCHITECTURES[name],
        from_torchvision(state, name),
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
        pooling="max",
    )
    images = random_images(2, 3, 65, 70)
    found = ours(images, ours.architecture.layer_names)

    x = torchvision.transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)(images)
    expected = []
    for module in theirs:
        x = module(x)
        if isinstance(module, torch.nn.Conv2d | torch.nn.ReLU):
            expected.append(x)
    assert len(expected) == len(found)
    for (layer, ours_), theirs_ in zip(found.items(), expected, strict=True):
        torch.testing.assert_close(ours_, theirs_, msg=layer)


def test_average_pooling_averages():
    backbone = backbone_of("vgg16", "average")
    found = backbone(random_images(1, 3, 8, 10), ["relu1_2", "conv2_1"])
    quarters = functional.unfold(found["relu1_2"].transpose(0, 1), 2, stride=2).mean(1)
    pooled = quarters.view(1, 64, 4, 5)
    weight, bias = backbone.weights["conv2_1.weight"], backbone.weights["conv2_1.bias"]
    torch.testing.assert_close(found["conv2_1"], functional.conv2d(pooled, weight, bias, padding=1))


def test_nothing_behind_the_deepest_layer_is_computed(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "triptych.style.data.backbone.functional.conv2d",
        lambda *args, original=functional.conv2d: (calls.append(1), original(*args))[1],
    )
    backbone_of("vgg19")(random_images(1, 3, 16, 16), ["conv2_1", "conv1_1"])
    assert len(calls) == 3


def test_gradients_reach_the_image_and_not_the_weights():
    backbone = backbone_of("vgg16")
    images = random_images(1, 3, 16, 16).requires_grad_()
    backbone(images, ["relu3_1"])["relu3_1"].sum().backward()
    assert images.grad is not None and images.grad.abs().sum() > 0
    assert not list(backbone.parameters())
    assert not any(tensor.requires_grad for tensor in backbone.weights.values())


@pytest.mark.parametrize("pooling", ["max", "average"])
def test_normalised_filters_have_a_mean_of_one(pooling):
    weights = backbone_of("narrow_alexnet", pooling, torch.float64).weights
    for key, value in weights.items():  # filters of sum zero: none of them is dead
        if key.endswith("weight"):
            value -= value.mean((1, 2, 3), keepdim=True)
        else:
            value += 0.5
    backbone = Backbone(
        ARCHITECTURES["narrow_alexnet"], weights, mean=(0.5,) * 3, std=(0.25,) * 3, pooling=pooling
    )
    batches = [
        random_images(2, 3, 96, 80, dtype=torch.float64),
        random_images(1, 3, 97, 96, dtype=torch.float64, seed=2),
    ]
    before = mean_activations(backbone, batches)
    assert all(mean.min() > 0.01 * mean.mean() for mean in before.values()), "none is dead"
    rescaled = normalised(backbone, batches)
    for mean in mean_activations(rescaled, batches).values():
        assert (mean - 1).abs().max() < 1e-6
    # The function of the network is the former one, but for a factor a filter.
    images = random_images(1, 3, 80, 80, dtype=torch.float64, seed=3)
    for layer in ("relu1", "relu3", "relu5"):
        torch.testing.assert_close(
            rescaled(images, [layer])[layer] * before[layer][:, None, None],
            backbone(images, [layer])[layer],
            rtol=1e-10,
            atol=1e-12,
        )


def test_a_filter_with_less_than_a_hundredth_of_the_mean_activation_is_not_blown_up():
    weights = backbone_of("narrow_alexnet", dtype=torch.float64).weights
    weights["conv2.weight"][0] *= 1e-5
    weights["conv2.bias"][0] = 1e-5
    backbone = Backbone(
        ARCHITECTURES["narrow_alexnet"],
        weights,
        mean=(0.5,) * 3,
        std=(0.25,) * 3,
        pooling="average",
    )
    images = [random_images(2, 3, 96, 80, dtype=torch.float64)]
    before = mean_activations(backbone, images)["relu2"]
    after = mean_activations(normalised(backbone, images), images)["relu2"]
    torch.testing.assert_close(after[0], before[0] / (0.01 * before.mean()), rtol=1e-6, atol=0)
    assert after[0] < 0.01


def test_a_file_gives_back_what_was_saved_and_always_the_same_bytes(tmp_path):
    backbone = backbone_of("narrow_alexnet")
    for name in ("a", "b"):
        save_backbone(tmp_path / name, backbone, weights="embedded", origin={"steps": 3, "seed": 0})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = load_backbone(tmp_path / "a", pooling="max")
    images = random_images(1, 3, 64, 64)
    torch.testing.assert_close(
        loaded(images, ["conv5"])["conv5"], backbone(images, ["conv5"])["conv5"], rtol=0, atol=0
    )
    record = record_of(tmp_path / "a")
    assert record["weights"] == "embedded"
    assert record["origin"] == {"steps": 3, "seed": 0}
    assert record["mean"] == list(IMAGENET_MEAN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conv3.bias": None}, r"expected 10 tensors; 1 missing \(conv3\.bias\)"),
        (
            {"conv2.weight": torch.zeros(7, 32, 5, 5)},
            r"conv2\.weight \(7, 32, 5, 5\) instead of \(96, 32, 5, 5\)",
        ),
    ],
)
def test_wrong_tensors_are_told_by_name_found_and_expected(tmp_path, change, message):
    path = tmp_path / "given.safetensors"
    tensors = {**backbone_of("narrow_alexnet").weights, **change}
    kept = {key: value for key, value in tensors.items() if value is not None}
    record = {"architecture": "narrow_alexnet", "mean": [0, 0, 0], "std": [1, 1, 1]}
    save_file(kept, path, {"backbone": json.dumps(record)})
    with pytest.raises(InputError, match=message) as caught:
        load_backbone(path, pooling="max")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("name", "weights"), [("vgg16", "hed"), ("narrow_alexnet", "embedded")])
def test_a_backbone_that_every_run_has_loads_and_no_layer_is_dead(name, weights):
    path = backbone_file() if weights == "hed" else SHIPPED / f"{name}.safetensors"
    backbone = load_backbone(path, pooling="average")
    assert backbone.architecture.name == name
    assert record_of(path)["weights"] == weights
    images = random_images(1, 3, 96, 96)
    for mean in mean_activations(backbone, [images]).values():
        assert mean.isfinite().all()
        assert (mean > 0).double().mean() > 0.2

"""Backbones against torchvision's own networks and closed forms."""

import json
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.backbones.backbone import (
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
from triptych.style.backbones.oriented import oriented, oriented_filters

SHIPPED = Path(__file__).parents[2] / "resources" / "style"


def record_of(path):
    """What a backbone's file says of itself."""
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["backbone"])


def random_backbone(name, pooling="max", dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for key, shape in ARCHITECTURES[name].shapes().items():
        fan = shape[1] * shape[2] * shape[3] if len(shape) == 4 else 100
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * (2 / fan) ** 0.5
        weights[key] = drawn.to(dtype)
    return Backbone(
        ARCHITECTURES[name], weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling=pooling
    )


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


def test_weights_of_another_torchvision_network_are_refused():
    state = torchvision.models.alexnet(weights=None).state_dict()
    with pytest.raises(InputError, match="vgg19"):
        from_torchvision(state, "vgg19")


def test_average_pooling_averages():
    backbone = random_backbone("narrow_vgg", "average")
    found = backbone(random_images(1, 3, 8, 10), ["relu1_2", "conv2_1"])
    quarters = functional.unfold(found["relu1_2"].transpose(0, 1), 2, stride=2).mean(1)
    pooled = quarters.view(1, 32, 4, 5)
    weight, bias = backbone.weights["conv2_1.weight"], backbone.weights["conv2_1.bias"]
    torch.testing.assert_close(found["conv2_1"], functional.conv2d(pooled, weight, bias, padding=1))


def test_layers_come_in_the_order_asked_for_and_are_not_overwritten():
    backbone = random_backbone("narrow_vgg")
    found = backbone(random_images(1, 3, 16, 16), ["relu2_1", "conv2_1", "conv1_1"])
    assert list(found) == ["relu2_1", "conv2_1", "conv1_1"]
    assert found["conv2_1"].min() < 0
    torch.testing.assert_close(found["relu2_1"], found["conv2_1"].clamp_min(0))


def test_nothing_behind_the_deepest_layer_is_computed(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "triptych.style.backbones.backbone.functional.conv2d",
        lambda *args, original=functional.conv2d: (calls.append(1), original(*args))[1],
    )
    random_backbone("vgg19")(random_images(1, 3, 16, 16), ["conv2_1", "conv1_1"])
    assert len(calls) == 3


def test_gradients_reach_the_image_and_not_the_weights():
    backbone = random_backbone("narrow_vgg")
    images = random_images(1, 3, 16, 16).requires_grad_()
    backbone(images, ["relu3_1"])["relu3_1"].sum().backward()
    assert images.grad is not None and images.grad.abs().sum() > 0
    assert not list(backbone.parameters())
    assert not any(tensor.requires_grad for tensor in backbone.weights.values())


def test_an_unknown_layer_is_named_with_those_that_there_are():
    with pytest.raises(InputError, match=r"no layer relu9_1.*relu5_1"):
        random_backbone("narrow_vgg")(random_images(1, 3, 16, 16), ["relu9_1"])


def test_stages_begin_behind_each_pooling():
    assert ARCHITECTURES["vgg19"].stages == ["conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1"]
    assert ARCHITECTURES["alexnet"].stages == ["conv1", "conv2", "conv3"]
    assert ARCHITECTURES["vgg19"].channels("relu4_2") == 512


@pytest.mark.parametrize("pooling", ["max", "average"])
def test_normalised_filters_have_a_mean_of_one(pooling):
    weights = random_backbone("narrow_vgg", pooling, torch.float64).weights
    for key, value in weights.items():  # filters of sum zero: none of them is dead
        if key.endswith("weight"):
            value -= value.mean((1, 2, 3), keepdim=True)
        else:
            value += 0.5
    backbone = Backbone(
        ARCHITECTURES["narrow_vgg"], weights, mean=(0.5,) * 3, std=(0.25,) * 3, pooling=pooling
    )
    batches = [
        random_images(2, 3, 64, 48, dtype=torch.float64),
        random_images(1, 3, 65, 64, dtype=torch.float64, seed=2),
    ]
    before = mean_activations(backbone, batches)
    assert all(mean.min() > 1e-4 * mean.mean() for mean in before.values()), "none is dead"
    rescaled = normalised(backbone, batches)
    for mean in mean_activations(rescaled, batches).values():
        assert (mean - 1).abs().max() < 1e-6
    # The function of the network is the former one, but for a factor a filter.
    images = random_images(1, 3, 40, 40, dtype=torch.float64, seed=3)
    for layer in ("relu1_1", "relu3_2", "relu5_1"):
        torch.testing.assert_close(
            rescaled(images, [layer])[layer] * before[layer][:, None, None],
            backbone(images, [layer])[layer],
            rtol=1e-10,
            atol=1e-12,
        )


def test_a_dead_filter_stays_dead_when_normalised():
    weights = random_backbone("narrow_vgg").weights
    weights["conv2_1.bias"][5] = -1e6
    backbone = Backbone(
        ARCHITECTURES["narrow_vgg"], weights, mean=(0, 0, 0), std=(1, 1, 1), pooling="average"
    )
    rescaled = normalised(backbone, [random_images(1, 3, 32, 32)])
    assert all(tensor.isfinite().all() for tensor in rescaled.weights.values())
    assert rescaled(random_images(1, 3, 32, 32), ["relu2_1"])["relu2_1"][:, 5].max() == 0


def test_a_file_gives_back_what_was_saved_and_always_the_same_bytes(tmp_path):
    backbone = random_backbone("narrow_alexnet")
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
        ({"conv3.bias": None}, r"1 of 10 tensors .* are missing, the first is conv3\.bias"),
        (
            {"conv2.weight": torch.zeros(7, 32, 5, 5)},
            r"conv2\.weight has shape \(7, 32, 5, 5\); expected \(96, 32, 5, 5\)",
        ),
    ],
)
def test_wrong_tensors_are_told_by_name_found_and_expected(tmp_path, change, message):
    path = tmp_path / "given.safetensors"
    tensors = {**random_backbone("narrow_alexnet").weights, **change}
    kept = {key: value for key, value in tensors.items() if value is not None}
    record = {"architecture": "narrow_alexnet", "mean": [0, 0, 0], "std": [1, 1, 1]}
    save_file(kept, path, {"backbone": json.dumps(record)})
    with pytest.raises(InputError, match=message) as caught:
        load_backbone(path, pooling="max")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "no metadata 'backbone'"),
        (
            {"backbone": '{"architecture": "resnet18", "mean": [0, 0, 0], "std": [1, 1, 1]}'},
            "'resnet18'; expected one of vgg16",
        ),
    ],
)
def test_a_file_that_is_no_backbone_of_ours_is_told(tmp_path, metadata, message):
    path = tmp_path / "given.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata)
    with pytest.raises(InputError, match=message):
        load_backbone(path, pooling="max")


def test_a_file_of_another_kind_or_none_is_told(tmp_path):
    path = tmp_path / "photo.safetensors"
    with pytest.raises(InputError, match="no such file"):
        load_backbone(path, pooling="max")
    path.write_bytes(b"\xff\xd8\xff\xe0 a photograph")
    with pytest.raises(InputError, match="not a safetensors file"):
        load_backbone(path, pooling="max")


def test_a_pooling_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="'max' or 'average'"):
        random_backbone("narrow_vgg", "median")


@pytest.mark.parametrize("name", ["narrow_vgg", "narrow_alexnet"])
def test_the_shipped_backbone_loads_and_no_layer_is_dead(name):
    path = SHIPPED / f"{name}.safetensors"
    backbone = load_backbone(path, pooling="average")
    assert backbone.architecture.name == name
    assert record_of(path)["weights"] == "embedded"
    images = random_images(1, 3, 96, 96)
    for mean in mean_activations(backbone, [images]).values():
        assert mean.isfinite().all()
        assert (mean > 0).double().mean() > 0.5


def test_oriented_filters_stand_beside_a_networks_own_layers():
    backbone, image = random_backbone("narrow_vgg", "average"), random_images(1, 3, 48, 32)
    found = backbone(image, ["oriented2", "relu2_1", "oriented1"])
    assert list(found) == ["oriented2", "relu2_1", "oriented1"]
    torch.testing.assert_close(found["relu2_1"], backbone(image, ["relu2_1"])["relu2_1"])
    alone = oriented(image, ["oriented2"], oriented_filters().float())
    torch.testing.assert_close(found["oriented2"], alone["oriented2"])
    with pytest.raises(InputError, match=r"no layer oriented6; it has .*relu5_1, oriented1"):
        backbone(image, ["oriented6"])

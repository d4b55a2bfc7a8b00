"""Backbones against torchvision's own networks and closed forms."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from safetensors import safe_open
from safetensors.torch import save_file
from skimage.filters import gabor_kernel
from torch.nn import functional

from triptych.core.errors import InputError
from triptych.style.data import backbone as library
from triptych.style.data.architectures import ORIENTED, ORIENTED_FILTERS
from triptych.style.data.backbone import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    from_torchvision,
    load_backbone,
    mean_activations,
    normalised,
    oriented,
    oriented_filters,
    save_backbone,
)

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


def test_average_pooling_averages():
    backbone = random_backbone("narrow_vgg", "average")
    found = backbone(random_images(1, 3, 8, 10), ["relu1_2", "conv2_1"])
    quarters = functional.unfold(found["relu1_2"].transpose(0, 1), 2, stride=2).mean(1)
    pooled = quarters.view(1, 32, 4, 5)
    weight, bias = backbone.weights["conv2_1.weight"], backbone.weights["conv2_1.bias"]
    torch.testing.assert_close(found["conv2_1"], functional.conv2d(pooled, weight, bias, padding=1))


def test_nothing_behind_the_deepest_layer_is_computed(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "triptych.style.data.backbone.functional.conv2d",
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


"""Four directions, an even and an odd filter each; the mixture itself is number 8."""


def of(images: torch.Tensor, layer: str = "oriented1") -> torch.Tensor:
    return oriented(images, [layer], oriented_filters().float())[layer]


def test_odd_filters_are_scikit_images_gabor_kernels() -> None:
    filters = oriented_filters()
    for turn in range(4):
        kernel = gabor_kernel(
            1 / library.WAVELENGTH,
            theta=math.pi * turn / 4,
            sigma_x=library.ACROSS,
            sigma_y=library.ALONG,
            n_stds=4,
        ).imag
        middle = kernel.shape[0] // 2, kernel.shape[1] // 2
        kernel = kernel[middle[0] - 3 : middle[0] + 4, middle[1] - 3 : middle[1] + 4]
        own = filters[2 * turn + 1, 1].numpy()  # of green
        cosine = (own * kernel).sum() / np.linalg.norm(own) / np.linalg.norm(kernel)
        assert cosine == pytest.approx(1, abs=1e-12)


def test_a_uniform_image_is_seen_by_the_plain_channels_alone() -> None:
    image = torch.tensor([0.8, 0.3, 0.5])[:, None, None].expand(1, 3, 32, 32)
    r, g, b = (image[0, :, 0, 0] - library.MIDDLE).tolist()
    values = 0.299 * r + 0.587 * g + 0.114 * b, 0.5 * (r - g), 0.5 * b - 0.25 * (r + g)
    for layer in ORIENTED:
        mean = of(image, layer)[0].mean((1, 2))
        signed = mean[:ORIENTED_FILTERS] - mean[ORIENTED_FILTERS:]
        expected = torch.zeros(ORIENTED_FILTERS)
        expected[[8, 13, 18]] = torch.tensor(values)
        torch.testing.assert_close(signed, expected, atol=1e-6, rtol=0)

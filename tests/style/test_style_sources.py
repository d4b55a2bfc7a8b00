"""The style study's downloads: what is asked of whom, and what is kept of it."""

import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
import yaml
from download_server import Behaviour, serving
from PIL import Image
from safetensors import safe_open

from triptych.core.errors import InputError
from triptych.style.data.backbone import ARCHITECTURES, load_backbone
from triptych.style.data.prepare import prepare_painting
from triptych.style.data.weights import download_weights
from triptych.style.data.wikimedia import download_picture

SOURCES = yaml.safe_load(
    (Path(__file__).parents[2] / "resources" / "sources.yaml").read_text(encoding="utf-8")
)
PICTURE = np.random.default_rng(0).bytes(50_000)


@pytest.fixture
def server():
    behaviour = Behaviour(PICTURE)
    with serving(behaviour) as address:
        behaviour.url = f"{address}/models/file-12345678.pth"  # type: ignore[attr-defined]
        yield behaviour


def test_without_a_contact_nothing_is_asked(server, tmp_path):
    with pytest.raises(InputError, match=r"style\.contact is .*403 or 429.*source: path"):
        download_picture(server.url, tmp_path / "a.jpg", "")
    assert server.requests == []


def torchvision_alexnet() -> dict[str, torch.Tensor]:
    """Numbers in the shapes of torchvision's AlexNet, its classifier shortened."""
    shapes: dict[str, tuple[int, ...]] = {"classifier.1.weight": (2,), "classifier.1.bias": (2,)}
    channels = {0: (3, 64, 11), 3: (64, 192, 5), 6: (192, 384, 3), 8: (384, 256, 3)}
    for layer, (inputs, outputs, side) in {**channels, 10: (256, 256, 3)}.items():
        shapes[f"features.{layer}.weight"] = (outputs, inputs, side, side)
        shapes[f"features.{layer}.bias"] = (outputs,)
    return {key: torch.full(shape, float(i)) for i, (key, shape) in enumerate(shapes.items())}


@pytest.fixture(scope="module")
def alexnet(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alexnet.pth"
    torch.save(torchvision_alexnet(), path)
    return path.read_bytes()


def test_of_the_weights_only_the_convolutions_are_kept(server, tmp_path, alexnet):
    server.content = alexnet
    start = hashlib.sha256(alexnet).hexdigest()[:8]
    path = tmp_path / "weights" / "alexnet.safetensors"
    download_weights(server.url, path, "alexnet", start, size=len(alexnet))
    assert list(path.parent.iterdir()) == [path]
    weights = load_backbone(path, pooling="max").weights
    assert set(weights) == set(ARCHITECTURES["alexnet"].shapes())
    state = torchvision_alexnet()
    for ours, theirs in (("conv1.weight", "features.0.weight"), ("conv5.bias", "features.10.bias")):
        assert torch.equal(weights[ours], state[theirs])
    with safe_open(path, "pt") as file:
        record = json.loads(file.metadata()["backbone"])
    assert record["weights"] == "imagenet"
    assert record["origin"] == {"url": server.url, "sha256_start": start}
    assert record["mean"] == [0.485, 0.456, 0.406]


def test_a_painting_is_checked_and_written_as_it_is(tmp_path):
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (80, 100, 3), np.uint8))
    image.save(tmp_path / "a.tif")
    prepare_painting(tmp_path / "a.tif", tmp_path / "out" / "a.png")
    np.testing.assert_array_equal(Image.open(tmp_path / "out" / "a.png"), image)
    prepare_painting(tmp_path / "a.tif", tmp_path / "out" / "b.png", longest=75)
    assert Image.open(tmp_path / "out" / "b.png").size == (75, 60)


@pytest.mark.slow  # importing torchvision takes several seconds
@pytest.mark.parametrize("name", ["vgg16", "vgg19", "alexnet"])
def test_addresses_and_hashes_of_the_weights_are_torchvisions(name):
    import torchvision.models

    entry = SOURCES["backbones"]["files"][name]
    weights = torchvision.models.get_model_weights(name).IMAGENET1K_V1
    assert entry["url"] == weights.url
    assert urlsplit(entry["url"]).path.endswith(f"-{entry['sha256_start']}.pth")
    assert len(entry["sha256_start"]) == 8
    if entry["size"] is not None:
        assert entry["size"] / 2**20 == pytest.approx(weights.meta["_file_size"], abs=6e-4)

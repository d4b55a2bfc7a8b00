"""Networks, backbones and weights that are none: refused by name, and no pickle is run."""

from pathlib import Path

import numpy as np
import pytest
import torch
from download_server import Behaviour, serving
from PIL import Image
from safetensors.torch import save_file
from sandbox import Trap, trap
from stand_in import Named

from triptych.style.network.network import Architecture, TransformationNetwork


@pytest.fixture(autouse=True)
def photograph(sandbox) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (80, 96, 3), np.uint8)
    Image.fromarray(noise).save("a.png")


def metadata(path: Path, text: str) -> None:
    tensors = TransformationNetwork(Architecture(4)).state_dict()
    save_file(tensors, path, {"network": text})


NETWORKS = {
    "a pickle.pth": lambda path: trap(path.parent, path.name),
    "a pickle.pt": lambda path: trap(path.parent, path.name),
    "a pickle.model": lambda path: trap(path.parent, path.name),
    "a pickle.safetensors": lambda path: trap(path.parent, path.name),
    "torch's form.pth": lambda path: torch.save({"w": Trap(path.parent / "sprung")}, path),
    "tensors in a list.pth": lambda path: torch.save([torch.zeros(2)], path),
    "of no kind.safetensors": lambda path: metadata(path, "{"),
    "of another kind.safetensors": lambda path: metadata(path, '{"architecture": {"w": 1}}'),
    "brackets.safetensors": lambda path: metadata(path, "[" * 100_000),
    "zero bytes.safetensors": lambda path: path.write_bytes(b""),
    "long head.safetensors": lambda path: path.write_bytes(b"\xff" * 8 + b"{}"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_no_network_is_refused_and_not_run(sandbox, name):
    NETWORKS[name](sandbox.here / name)
    sandbox.command_refuses(
        "stylize", "a.png", "--style", name, "-o", "x.png", said=(name, "expected")
    )
    given = {"network": name, "contents": ["a.png"]}
    params = {"painting": "a", "variant": "b", "precision": "float32", "device": "cpu"}
    sandbox.refuses("style_stylize", given, Named(runs="results/s/runs.csv"), name, **params)
    assert not list(sandbox.around.rglob("sprung*"))
    sandbox.check()


def backbone_saying(path: Path, text: str) -> None:
    save_file({"conv1.weight": torch.zeros(1)}, path, {"backbone": text})


BACKBONES = {
    "a pickle": lambda path: trap(path.parent, path.name),
    "no JSON": lambda path: backbone_saying(path, "{"),
    "without mean": lambda path: backbone_saying(path, '{"architecture": "vgg16"}'),
    "a mean of one": lambda path: backbone_saying(
        path, '{"architecture": "vgg16", "mean": [1], "std": [1]}'
    ),
    "zero bytes": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("kind", BACKBONES)
def test_what_is_no_backbone_is_refused_and_not_run(sandbox, kind):
    BACKBONES[kind](sandbox.here / "b.safetensors")
    arguments = ("a.png", "--optimize", "--style", "a.png", "--backbone", "b.safetensors")
    said = ("b.safetensors", "expected")
    sandbox.command_refuses("stylize", *arguments, "-o", "x.png", said=said)
    assert not list(sandbox.around.rglob("sprung*"))


@pytest.mark.parametrize("torch_form", [False, True])
def test_a_pickle_offered_as_torchvisions_weights_is_refused_and_not_run(sandbox, torch_form):
    path, sprung = trap(sandbox.here, "offered.pth")
    if torch_form:
        torch.save({"features.0.weight": Trap(sprung)}, path)
    size = path.stat().st_size
    with serving(Behaviour(path.read_bytes())) as url:
        sandbox.refuses(
            "style_download_weights",
            {},
            Named("results/style/weights/vgg16.safetensors"),
            "vgg16.pth",
            "system",
            "expected torchvision's vgg16",
            architecture="vgg16",
            url=url,
            size=size,
            sha256_start="",
            lock="results/lock.json",
        )
    assert not sprung.exists()
    sandbox.check()

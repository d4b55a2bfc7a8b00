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

from triptych.core.errors import InputError
from triptych.style.data.backbone import load_backbone
from triptych.style.network.architecture import Architecture
from triptych.style.network.network import TransformationNetwork


@pytest.fixture(autouse=True)
def photograph(sandbox) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (80, 96, 3), np.uint8)
    Image.fromarray(noise).save("a.png")


def metadata(path: Path, text: str) -> None:
    tensors = TransformationNetwork(Architecture(4)).state_dict()
    save_file(tensors, path, {"network": text})


NETWORKS = {
    "a pickle.pth": lambda path: trap(path.parent, path.name),
    "torch's form.pth": lambda path: torch.save({"w": Trap(path.parent / "sprung")}, path),
    "of another kind.safetensors": lambda path: metadata(path, '{"architecture": {"w": 1}}'),
    "brackets.safetensors": lambda path: metadata(path, "[" * 100_000),
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


@pytest.mark.parametrize("text", [None, "{", '{"architecture": "vgg16", "mean": [1], "std": [1]}'])
def test_what_is_no_backbone_is_refused_and_not_run(sandbox, text):
    path = sandbox.here / "b.safetensors"
    if text is None:
        trap(path.parent, path.name)
    else:
        save_file({"conv1.weight": torch.zeros(1)}, path, {"backbone": text})
    with pytest.raises(InputError, match=r"b\.safetensors.*expected"):
        load_backbone(path, pooling="max")
    assert not list(sandbox.around.rglob("sprung*"))


OFFERED = {
    "style_download_weights": (
        "results/style/weights/vgg16.safetensors",
        {"architecture": "vgg16", "sha256_start": ""},
        ("vgg16.pth", "system", "expected torchvision's vgg16"),
    ),
    "audio_download_passt": (
        "results/audio/weights/passt_n.safetensors",
        {"variant": "passt_n", "sha256": None},
        ("passt_n.pt", "system", "expected the published checkpoint"),
    ),
}


@pytest.mark.parametrize("rule", OFFERED)
def test_a_pickle_offered_as_published_weights_is_refused_and_not_run(sandbox, rule):
    output, params, said = OFFERED[rule]
    sprung = sandbox.around / "sprung"
    torch.save({"features.0.weight": Trap(sprung)}, "offered.pt")
    content = Path("offered.pt").read_bytes()
    with serving(Behaviour(content)) as url:
        known = {"url": url, "size": len(content), "lock": "results/lock.json"}
        sandbox.refuses(rule, {}, Named(output), *said, **known, **params)
    assert not sprung.exists()
    sandbox.check()

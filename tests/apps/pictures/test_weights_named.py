"""`triptych stylize --optimize --backbone alexnet`, with random weights of a server here."""

import hashlib
import io
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from download_server import Behaviour, serving
from PIL import Image

from triptych.apps.pictures import catalogue
from triptych.apps.pictures.catalogue import WEIGHTS as FOLDER
from triptych.cli import main
from triptych.style.data.architectures import ARCHITECTURES, Convolution
from triptych.style.data.backbone import load_backbone


def torchvision_alexnet() -> bytes:
    """A file as torchvision's, its classifier shortened."""
    generator = torch.Generator().manual_seed(0)
    state, number = {"classifier.1.weight": torch.zeros(2)}, 0
    for layer in ARCHITECTURES["alexnet"].layers:
        if isinstance(layer, Convolution):
            shape = (layer.outputs, layer.inputs, layer.kernel, layer.kernel)
            state[f"features.{number}.weight"] = 0.02 * torch.randn(shape, generator=generator)
            state[f"features.{number}.bias"] = torch.zeros(layer.outputs)
        number += 2 if isinstance(layer, Convolution) else 1
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


CONTENT = torchvision_alexnet()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the checkout, and a photograph in the working directory."""
    here = tmp_path / "checkout"
    (here / "resources").mkdir(parents=True)
    monkeypatch.setattr(catalogue, "CHECKOUT", here)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Image.radial_gradient("L").resize((70, 65)).convert("RGB").save("a.png")
    return here


def source(checkout: Path, address: str, **changes: Any) -> None:
    """What the checkout says of where weights come from."""
    file = {
        "url": f"{address}/alexnet-0123.pth",
        "size": len(CONTENT),
        "sha256_start": hashlib.sha256(CONTENT).hexdigest()[:8],
    }
    listed = {"backbones": {"files": {"alexnet": file | changes}}}
    (checkout / "resources/sources.yaml").write_text(yaml.safe_dump(listed))


def painted(name: str = "alexnet") -> int:
    how = ["--optimize", "--evaluations", "1", "--device", "cpu", "--backbone", name]
    return main(["stylize", "a.png", "--style", "a.png", "-o", "out.png", "--overwrite", *how])


def test_weights_are_fetched_once_to_where_the_workflow_keeps_them(checkout: Path) -> None:
    behaviour = Behaviour(content=CONTENT)
    with serving(behaviour) as address:
        source(checkout, address)
        assert painted() == 0
        assert painted() == 0
    assert len(behaviour.requests) == 1
    (kept,) = (checkout / FOLDER).iterdir()
    assert kept.name == "alexnet.safetensors"
    expected = torch.load(io.BytesIO(CONTENT))["features.3.weight"]
    assert torch.equal(load_backbone(kept, pooling="max").weights["conv2.weight"], expected)
    assert Image.open("out.png").size == (70, 65)


def test_without_a_connection_it_says_what_can_be_done(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        source(checkout, f"http://127.0.0.1:{closed.getsockname()[1]}")
        assert painted() == 2
    said = capsys.readouterr().err
    assert "--backbone alexnet: its weights cannot be fetched" in said
    assert "on a machine with a connection" in said and "Traceback" not in said
    assert not Path("out.png").exists()

"""Download rules with small files of their sources' kinds, on a server of ours."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
import yaml
from hub_site import REVISION, hub_site
from PIL import Image
from safetensors.torch import save
from stand_in import Named, run

from triptych.audio.models.audio_encoders.passt import Settings as PasstSettings
from triptych.audio.models.passt import Passt
from triptych.style.data.architectures import Architecture, Convolution, Pooling
from triptych.style.data.missing import missing_reason

SOURCES = Path(__file__).parents[2] / "resources" / "sources.yaml"
PASST = "passt_tiny"
SMALL_PASST = PasstSettings(
    stride=(10, 10), frames=98, dim=24, depth=1, heads=3, patchout=(1, 1), classes=5
)
SMALL_VGG = Architecture(
    "small_vgg", (Convolution("conv1", 3, 32), Pooling(2, 2), Convolution("conv2", 32, 64))
)
SETTINGS = {"source": "hub", "class": "bert", "repository": "some/bert", "revision": REVISION}


@dataclass
class Case:
    """A download rule, what its sources have, and what is known of that beforehand."""

    name: str
    rule: str
    files: dict[str, bytes]
    output: str
    params: Callable[[str], dict[str, Any]]
    """What the rule passes, given the server's address."""
    knows: str
    """"size" (and a checksum), a "checksum" alone, "nothing"; "list": the file is the hub's."""
    disturbed: str = ""
    """In the addresses that the server misbehaves at."""
    mirrored: bool = False
    given: dict[str, Any] = field(default_factory=dict)

    def run(self, address: str) -> None:
        """Run the rule's script in the current folder."""
        output = Path(self.output)
        if output.is_dir():
            shutil.rmtree(output)
        else:
            output.unlink(missing_ok=True)
        run(self.rule, self.given, Named(self.output), **self.params(address))

    def product(self) -> dict[str, bytes]:
        """The output's files by name, {} when there are none."""
        output = Path(self.output)
        if output.is_dir():
            return {path.name: path.read_bytes() for path in output.iterdir()}
        return {output.name: output.read_bytes()} if output.exists() else {}


def failure(case: Case, address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the job says when it fails, or the missing picture that it leaves, which is removed."""
    capsys.readouterr()
    if case.rule == "style_download_picture":
        case.run(address)
        reason = missing_reason(case.output)
        Path(case.output).unlink()
        return reason
    with pytest.raises(SystemExit) as ended:
        case.run(address)
    assert ended.value.code == 1
    return capsys.readouterr().err


def nothing_is_taken_for_whole(case: Case, recorded: bool = False) -> None:
    """No output; besides, only parts, what says of them where they belong, and finished files.

    recorded: whether there was a first download, of which a lock file speaks.
    """
    assert case.product() == {}
    whole = set(case.files.values())
    for path in Path().rglob("*"):
        known = path.suffix in (".part", ".log") or path.name.endswith(".part.json")
        known |= bool({"provenance", "leases"} & {*path.parts}) or (
            recorded and "locks" in path.parts
        )
        if path.is_file() and not known:
            assert path.read_bytes() in whole, path


def cases() -> list[Case]:
    """All of them. Only what a rule can't know of its source is left out of its params."""
    return [_rl(), _painting(), _weights(), _audio(), _passt(), *_hub_cases()]


def _noise(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


def _rl() -> Case:
    content = _noise(60_000)
    entry = yaml.safe_load(SOURCES.read_text())["d4rl"]["files"]["hopper_medium-v2"]
    path, mirror = (urlsplit(entry[key]).path for key in ("url", "mirror"))

    def params(address: str) -> dict[str, Any]:
        known = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        known |= {"lock": "resources/locks/hopper_expert-v2.json"}
        return {"url": address + path, "mirrors": [address + mirror], **known}

    files = {path: content, mirror: content}
    output = "results/rl/hopper/d4rl.hdf5"
    return Case("rl_download", "rl_download", files, output, params, "size", mirrored=True)


def _painting() -> Case:
    path, stream = "/commons/f/f4/The_Scream.jpg", io.BytesIO()
    Image.fromarray(np.frombuffer(_noise(30_000), np.uint8).reshape(100, 100, 3)).save(
        stream, "JPEG"
    )

    def params(address: str) -> dict[str, Any]:
        known = {"size": None, "sha256": None, "lock": "resources/locks/the_scream.json"}
        return {"url": address + path, "contact": "me@example.org", **known}

    output, rule = "results/style/downloads/the_scream", "style_download_picture"
    return Case(rule, rule, {path: stream.getvalue()}, output, params, "nothing")


def _weights() -> Case:
    """Random numbers under torchvision's names, as for its VGG but narrow."""
    path, stream, shapes = "/models/vgg16.pth", io.BytesIO(), SMALL_VGG.shapes()
    torch.manual_seed(1)
    state = {
        f"features.{number}.{kind}": torch.randn(shapes[f"{layer}.{kind}"])
        for layer, number in (("conv1", 0), ("conv2", 3))
        for kind in ("weight", "bias")
    }
    torch.save({**state, "classifier.0.weight": torch.randn(100, 100)}, stream)
    start = hashlib.sha256(stream.getvalue()).hexdigest()[:8]

    def params(address: str) -> dict[str, Any]:
        known = {"size": None, "sha256_start": start, "lock": "resources/locks/vgg16.json"}
        return {"url": address + path, "architecture": SMALL_VGG.name, **known}

    output, rule = "results/style/weights/vgg16.safetensors", "style_download_weights"
    return Case(rule, rule, {path: stream.getvalue()}, output, params, "checksum")


def _audio() -> Case:
    content, name = _noise(70_000), "clotho_audio_validation.7z"

    def params(address: str) -> dict[str, Any]:
        known = {"size": None, "md5": hashlib.md5(content).hexdigest(), "sha256": None}
        known |= {"lock": "resources/locks/clotho.json"}
        return {"url": f"{address}/files/{name}?download=1", "mirrors": [], **known}

    output, rule = f"results/audio/downloads/clotho/{name}", "audio_download"
    return Case(rule, rule, {f"/files/{name}": content}, output, params, "checksum")


def _passt() -> Case:
    torch.manual_seed(0)
    stream = io.BytesIO()
    torch.save(Passt(SMALL_PASST).state_dict(), stream)
    path = "/releases/download/passt-s-f128.pt"

    def params(address: str) -> dict[str, Any]:
        known = {"size": None, "sha256": None, "lock": "resources/locks/passt_n.json"}
        return {"url": address + path, "variant": PASST, **known}

    output, rule = "results/audio/weights/passt_n.safetensors", "audio_download_passt"
    return Case(rule, rule, {path: stream.getvalue()}, output, params, "nothing")


def _hub_cases() -> list[Case]:
    """The hub tells sizes and hashes of all but its own list."""
    archives = {f"SoundBible.{end}": _noise(60_000 + n) for n, end in enumerate(("z01", "z02"))}
    archives["SoundBible.zip"] = _noise(20_001)
    sounds = hub_site("datasets", "some/sounds", archives, "Zip_files/SoundBible", set(archives))
    model = {
        "config.json": json.dumps({"model_type": "bert", "hidden_size": 24}).encode(),
        "tokenizer.json": json.dumps({"model": {"vocab": list(range(10_000))}}).encode(),
        "tokenizer_config.json": b'{"do_lower_case": true}',
        "model.safetensors": save({"embeddings": torch.arange(20_000.0)}),
        "pytorch_model.bin": b"a pickle, never asked for",
    }
    texts = hub_site("models", "some/bert", model, large={"model.safetensors"})

    def part(address: str) -> dict[str, Any]:
        place = {"repository": "some/sounds", "revision": REVISION, "part": "SoundBible"}
        return {**place, "checkpoint": "results/checkpoints/audio_download_wavcaps/SoundBible"}

    def text(address: str) -> dict[str, Any]:
        return {"settings": SETTINGS}

    made, given = "results/audio/downloads/wavcaps/Zip_files/x", {"captions": [], "manifest": []}
    wavcaps, bert = "audio_download_wavcaps", "audio_text_model"
    return [
        Case(f"{wavcaps} (a part)", wavcaps, sounds, made, part, "size", "SoundBible.z02"),
        Case(f"{wavcaps} (the hub's list)", wavcaps, sounds, made, part, "list", "/api/"),
        Case(bert, bert, texts, "results/audio/text", text, "size", "model.saf", given=given),
    ]

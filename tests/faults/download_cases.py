"""Every download rule with small files in the exact layouts of its sources, on a server of ours."""

import csv
import hashlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import py7zr
import pytest
import torch
from hub_site import REVISION, hub_site
from PIL import Image
from safetensors.torch import save

from triptych.audio.models.audio_encoders import PasstSettings
from triptych.audio.models.passt import Passt
from triptych.style.data.architectures import Architecture, Convolution, Pooling

sys.path.append(str(Path(__file__).parents[1] / "audio"))

from audio_source_files import CAPTION_HEADER, captions_of
from split_zip_writer import write_split_zip
from stand_in import Named, run

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
        """Run the rule's script in the current folder, as Snakemake does."""
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
    """What the job says when it fails."""
    capsys.readouterr()
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
    return [
        *_rl(),
        *_style(),
        *_audio_files(),
        _passt(),
        *_hub_cases(),
    ]


def _sums(content: bytes, *kinds: str) -> dict[str, Any]:
    return {kind: hashlib.new(kind, content).hexdigest() for kind in kinds}


def _rl() -> list[Case]:
    content = _d4rl()
    path, mirror = "/gym_mujoco_v2/hopper_expert-v2.hdf5", "/resolve/hopper_expert-v2.hdf5"

    def params(address: str) -> dict[str, Any]:
        addresses = {"url": address + path, "mirrors": [address + mirror]}
        known = {"size": len(content), **_sums(content, "sha256")}
        return {**addresses, **known, "lock": "resources/locks/hopper_expert-v2.json"}

    files = {path: content, mirror: content}
    output = "results/rl/hopper/d4rl.hdf5"
    return [Case("rl_download (HDF5)", "rl_download", files, output, params, "size", mirrored=True)]


def _style() -> list[Case]:
    photographs = _zip()
    painting, weights = _jpeg(), _torchvision()
    zips = ["/images.cocodataset.org/zips/train2017.zip", "/zips/train2017.zip"]

    def coco(address: str) -> dict[str, Any]:
        known = {"size": len(photographs), **_sums(photographs, "md5", "sha256")}
        return {"url": address + zips[0], "mirrors": [address + zips[1]], **known}

    def picture(address: str) -> dict[str, Any]:
        lock = "resources/locks/the_scream.json"
        known = {"size": None, "sha256": None, "lock": lock, "contact": "me@example.org"}
        return {"url": f"{address}/commons/f/f4/The_Scream.jpg", **known}

    def network(address: str) -> dict[str, Any]:
        start = _sums(weights, "sha256")["sha256"][:8]
        known = {"size": None, "sha256_start": start, "lock": "resources/locks/vgg16.json"}
        url = f"{address}/models/vgg16.pth"
        return {"url": url, "architecture": SMALL_VGG.name, **known}

    return [
        Case(
            "style_download_coco (zip)",
            "style_download_coco",
            {zips[0]: photographs, zips[1]: photographs},
            "results/style/downloads/train2017.zip",
            coco,
            "size",
            mirrored=True,
        ),
        Case(
            "style_download_picture (JPEG)",
            "style_download_picture",
            {"/commons/f/f4/The_Scream.jpg": painting},
            "results/style/downloads/the_scream",
            picture,
            "nothing",
        ),
        Case(
            "style_download_weights (.pth)",
            "style_download_weights",
            {"/models/vgg16.pth": weights},
            "results/style/weights/vgg16.safetensors",
            network,
            "checksum",
        ),
    ]


def _audio_files() -> list[Case]:
    def case(kind: str, name: str, content: bytes, knows: str, **known: Any) -> Case:
        def params(address: str) -> dict[str, Any]:
            sums = {"size": None, "md5": None, "sha256": None, **known}
            lock = f"resources/locks/group-{name}.json"
            return {
                "url": f"{address}/files/{name}?download=1",
                "mirrors": [],
                "lock": lock,
                **sums,
            }

        output = f"results/audio/downloads/group/{name}"
        rule = "audio_download"
        return Case(f"{rule} ({kind})", rule, {f"/files/{name}": content}, output, params, knows)

    sounds, table, texts = _seven_zip(), _csv(), _json()
    return [
        case("7z", "clotho_audio_validation.7z", sounds, "checksum", **_sums(sounds, "md5")),
        case("CSV", "val.csv", table, "size", size=len(table), **_sums(table, "sha256")),
        case("JSON", "variations.json", texts, "nothing"),
    ]


def _passt() -> Case:
    torch.manual_seed(0)
    stream = io.BytesIO()
    torch.save(Passt(SMALL_PASST).state_dict(), stream)
    path = "/releases/download/passt-s-f128.pt"

    def params(address: str) -> dict[str, Any]:
        known = {"size": None, "sha256": None, "lock": "resources/locks/passt_n.json"}
        return {"url": address + path, "variant": PASST, **known}

    output = "results/audio/weights/passt_n.safetensors"
    rule = "audio_download_passt"
    return Case(f"{rule} (.pt)", rule, {path: stream.getvalue()}, output, params, "nothing")


def _hub_cases() -> list[Case]:
    """The hub tells sizes and hashes of all but its own list."""
    archives = _archives()
    sounds = hub_site("datasets", "some/sounds", archives, "Zip_files/SoundBible", set(archives))
    model = _text_model()
    texts = hub_site("models", "some/bert", model, large={"model.safetensors"})

    def part(address: str) -> dict[str, Any]:
        place = {"repository": "some/sounds", "revision": REVISION, "part": "SoundBible"}
        return {**place, "checkpoint": "results/checkpoints/audio_download_wavcaps/SoundBible"}

    def text(address: str) -> dict[str, Any]:
        return {"settings": SETTINGS}

    rules = {
        "audio_download_wavcaps": (
            sounds,
            f"{'results/audio/downloads/wavcaps/Zip_files'}/x",
            part,
        ),
        "audio_text_model": (texts, "results/audio/text/bert", text),
    }
    wanted = [
        ("audio_download_wavcaps", "zip in parts", "SoundBible.z02", "size"),
        ("audio_download_wavcaps", "the hub's list", "/api/", "list"),
        ("audio_text_model", "safetensors", "model.safetensors", "size"),
        ("audio_text_model", "JSON", "tokenizer.json", "size"),
        ("audio_text_model", "the hub's list", "/api/", "list"),
    ]
    given = {"audio_text_model": {"captions": [], "manifest": []}}
    return [
        Case(f"{rule} ({kind})", rule, *rules[rule], knows, where, given=given.get(rule, {}))
        for rule, kind, where, knows in wanted
    ]


def _d4rl() -> bytes:
    """The layout of D4RL's expert files: arrays by step, and what made them."""
    random, steps = np.random.default_rng(0), 400
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for key, width in (("observations", 11), ("next_observations", 11), ("actions", 3)):
            file[key] = random.standard_normal((steps, width), np.float32)
        file["rewards"] = random.standard_normal(steps, np.float32)
        file["terminals"] = np.zeros(steps, bool)
        file["timeouts"] = np.arange(steps) % 100 == 99
        file["infos/qpos"] = random.standard_normal((steps, 6))
        file["metadata/algorithm"] = "SAC"
    return stream.getvalue()


def _jpeg(size: int = 300) -> bytes:
    stream = io.BytesIO()
    pixels = np.random.default_rng(1).integers(0, 256, (size, size, 3), np.uint8)
    Image.fromarray(pixels).save(stream, "JPEG", quality=90)
    return stream.getvalue()


def _zip() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        members = {f"train2017/{n:012d}.jpg": _jpeg(100 + n) for n in range(5)}
        (path,) = write_split_zip(Path(folder) / "train2017.zip", members, None)
        return path.read_bytes()


def _archives() -> dict[str, bytes]:
    random = np.random.default_rng(2)
    members = {f"mnt/SoundBible_flac/{n}.flac": random.bytes(30_000) for n in range(5)}
    with tempfile.TemporaryDirectory() as folder:
        paths = write_split_zip(Path(folder) / "SoundBible.zip", members, 60_000)
        return {path.name: path.read_bytes() for path in paths}


def _seven_zip() -> bytes:
    random, stream = np.random.default_rng(3), io.BytesIO()
    with py7zr.SevenZipFile(stream, "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
        for n in range(4):
            archive.writestr(b"RIFF" + random.bytes(9_000), f"validation/sound {n}.wav")
    return stream.getvalue()


def _csv() -> bytes:
    stream = io.StringIO(newline="")
    rows = [[f"sound {n}.wav", *captions_of(f"sound {n}.wav")] for n in range(300)]
    csv.writer(stream, lineterminator="\n").writerows([CAPTION_HEADER, *rows])
    return stream.getvalue().encode()


def _json() -> bytes:
    return json.dumps({f"sound {n}.wav": captions_of(f"{n}.wav") for n in range(300)}).encode()


def _torchvision() -> bytes:
    """Random numbers under torchvision's names, as for its VGG but narrow."""
    state, number = {}, 0
    torch.manual_seed(1)
    shapes = SMALL_VGG.shapes()
    for layer in SMALL_VGG.layers:
        if isinstance(layer, Convolution):
            for kind in ("weight", "bias"):
                state[f"features.{number}.{kind}"] = torch.randn(shapes[f"{layer.name}.{kind}"])
        number += 2 if isinstance(layer, Convolution) else 1
    state["classifier.0.weight"] = torch.randn(100, 100)
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


def _text_model() -> dict[str, bytes]:
    return {
        "config.json": json.dumps({"model_type": "bert", "hidden_size": 24}).encode(),
        "tokenizer.json": json.dumps({"model": {"vocab": list(range(10_000))}}).encode(),
        "tokenizer_config.json": b'{"do_lower_case": true}',
        "model.safetensors": save({"embeddings": torch.arange(20_000.0)}),
        "pytorch_model.bin": b"a pickle, never asked for",
    }

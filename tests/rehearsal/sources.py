"""Synthetic source files of the offline-RL and the style study, in the layouts of the real ones.

Each `make_<study>(folder, address)` writes its files below `folder`, which is served at `address`,
and returns its part of resources/sources.yaml, with addresses, sizes and checksums of what it
wrote, and the environment variables that its rules need.
"""

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h5py
import numpy as np
import torch
import torchvision
import yaml
from PIL import Image

from triptych.style.data.photographs import embedded_photographs

ROOT = Path(__file__).parents[2]

STEPS = 4000
"""Of each task's recording; D4RL's have a million."""

SIZES = {"hopper": (11, 3, 6), "walker2d": (17, 6, 9), "halfcheetah": (17, 6, 9)}
"""Numbers in an observation, an action, and each of qpos and qvel."""

PIXELS = {"starry_night": (1280, 1014), "the_scream": (2000, 2526), "great_wave": (2859, 1970)}
PIXELS |= {"composition_vii": (1800, 1190), "mountain": (1600, 1200), "city": (5000, 3750)}
"""Width and height, about those of the reproductions; of photographs, no fewer than are needed."""

Sources = dict[str, Any]


def real_sources() -> Sources:
    """What resources/sources.yaml says of the real files."""
    return dict(yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text(encoding="utf-8")))


def place(folder: Path, url: str) -> Path:
    """Where the stand-in of the file at `url` lies below `folder`: by host and path."""
    parts = urlsplit(url)
    path = folder / parts.netloc / parts.path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def stand_in(entry: Sources, folder: Path, address: str) -> Sources:
    """The entry of sources.yaml for the file that was written to its place.

    Size and checksums are the file's own, each where the real source publishes one.
    """
    path = place(folder, entry["url"])
    where = f"{address}/{path.relative_to(folder).as_posix()}"
    changed = dict(entry) | {key: where for key in ("url", "mirror") if key in entry}
    known = {"size": path.stat().st_size}
    for key, algorithm in (("md5", "md5"), ("sha256", "sha256"), ("sha256_start", "sha256")):
        if entry.get(key) is not None:
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, algorithm).hexdigest()
            known[key] = digest[: len(entry[key])]
    return changed | {key: value for key, value in known.items() if entry.get(key) is not None}


def make_rl(folder: Path, address: str) -> tuple[Sources, dict[str, str]]:
    """D4RL's expert data of the three tasks: its keys, types and sizes, a few thousand steps."""
    group = real_sources()["d4rl"]
    for number, (task, sizes) in enumerate(SIZES.items()):
        entry = group["files"][f"{task}_expert-v2"]
        write_d4rl(place(folder, entry["url"]), *sizes, seed=number)
        group["files"][f"{task}_expert-v2"] = stand_in(entry, folder, address)
    return {"d4rl": group}, {}


def write_d4rl(path: Path, state: int, action: int, joints: int, seed: int) -> None:
    """Random steps in the layout of D4RL's `*_expert-v2.hdf5`, compressed as there."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    observations = normal(STEPS, state)
    terminals, timeouts = np.zeros(STEPS, bool), np.zeros(STEPS, bool)
    timeouts[999::1000] = True
    terminals[random.choice(STEPS - 1, 3, replace=False)] = True
    terminals &= ~timeouts
    steps = {
        "observations": observations,
        "actions": np.tanh(normal(STEPS, action)),
        "rewards": normal(STEPS),
        "terminals": terminals,
        "timeouts": timeouts,
        "next_observations": np.roll(observations, -1, axis=0),
        "infos/action_log_probs": normal(STEPS),
        "infos/qpos": normal(STEPS, joints).astype(np.float64),
        "infos/qvel": normal(STEPS, joints).astype(np.float64),
    }
    with h5py.File(path, "w") as file:
        for name, values in steps.items():
            file.create_dataset(name, data=values, compression="gzip")
        file["metadata/algorithm"] = np.bytes_("SAC")


def make_style(folder: Path, address: str) -> tuple[Sources, dict[str, str]]:
    """COCO's zip file, torchvision's weights and Wikimedia's pictures."""
    real = real_sources()
    made = {name: real[name] for name in ("coco", "backbones", "wikimedia")}
    write_coco(place(folder, made["coco"]["files"]["train2017"]["url"]))
    for architecture, entry in made["backbones"]["files"].items():
        write_weights(place(folder, entry["url"]), architecture)
    for number, (picture, entry) in enumerate(made["wikimedia"]["files"].items()):
        write_painting(place(folder, entry["url"]), *PIXELS[picture], seed=number)
    for group in made.values():
        for name, entry in group["files"].items():
            group["files"][name] = stand_in(entry, folder, address)
    return made, {}


def write_coco(path: Path) -> None:
    """A zip as train2017.zip: a folder and JPEGs, stored; some grey, CMYK, tiny and broken."""
    images = []
    for photograph in embedded_photographs().values():
        whole = photograph.resize((640, 480), Image.Resampling.BICUBIC)
        upright = photograph.resize((427, 640), Image.Resampling.BICUBIC)
        images += [_jpeg(whole), _jpeg(upright)]
    first = next(iter(embedded_photographs().values()))
    images += [
        _jpeg(first.resize((640, 480)).convert("L")),
        _jpeg(first.resize((500, 375)).convert("CMYK")),
        _jpeg(first.resize((120, 90))),
        images[0][: len(images[0]) // 2],
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("train2017/", b"")
        for number, image in enumerate(images):
            archive.writestr(f"train2017/{9 + 7 * number:012}.jpg", image)


def _jpeg(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def write_weights(path: Path, architecture: str) -> None:
    """torchvision's state dict of a network, classifier and all, with its random initialisation."""
    torch.manual_seed(0)
    network = torchvision.models.get_model(architecture, weights=None)
    torch.save(network.state_dict(), path)


def write_painting(path: Path, width: int, height: int, seed: int) -> None:
    """A JPEG of smooth coloured patches with grain, of a reproduction's size."""
    random = np.random.default_rng(seed)
    patches = random.integers(0, 256, (12, 15, 3), dtype=np.uint8)
    canvas = np.asarray(Image.fromarray(patches).resize((width, height), Image.Resampling.BICUBIC))
    grain = random.integers(-20, 21, (height, width, 1), dtype=np.int16)
    path.write_bytes(_jpeg(Image.fromarray((canvas + grain).clip(0, 255).astype(np.uint8))))

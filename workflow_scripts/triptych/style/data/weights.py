"""torchvision's ImageNet weights, of which only the convolutional part is kept."""

import os
from pathlib import Path
from typing import Any

from triptych.core.download import download, public_address
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
        convert(file, path, architecture, origin)

    download(url, whole, sha256_start=sha256_start, check=check, **settings)
    whole.unlink()


def convert(
    whole: str | os.PathLike[str],
    path: str | os.PathLike[str],
    architecture: str,
    origin: dict[str, Any],
) -> None:
    """Write the convolutions of torchvision's state dict in the file `whole` as a backbone.

    Raises InputError for a file that isn't this network.
    """
    state = read_state_dict(whole, f"torchvision's {architecture}")
    backbone = Backbone(
        ARCHITECTURES[architecture],
        from_torchvision(state, architecture),
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
        pooling="max",
    )
    save_backbone(path, backbone, weights="imagenet", origin=origin)

"""Published checkpoints of PaSST: fetched, checked, and kept as safetensors."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from triptych.audio.models.audio_encoders.passt import PUBLISHED, Settings
from triptych.audio.models.passt import Passt
from triptych.core.download import download
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import differences, read_state_dict, shapes

StrPath = str | os.PathLike[str]


def download_passt(url: str, path: StrPath, variant: str, **settings: Any) -> None:
    """Fetch the checkpoint of `variant` (a key of PUBLISHED) and write its tensors to `path`.

    settings: of `core.download.download`. Raises DownloadError, and InputError for a file that
    isn't this variant.
    """
    checkpoint = Path(path).with_suffix(".pt")
    download(url, checkpoint, check=lambda file: convert_passt(file, variant, path), **settings)
    checkpoint.unlink()


def convert_passt(checkpoint: StrPath, variant: str, path: StrPath) -> None:
    """Write a published checkpoint (`.pt`) as safetensors. Raises InputError for another file."""
    state = read_state_dict(
        checkpoint, f"the published checkpoint of {variant} (resources/sources.yaml)"
    )
    check_passt(state, PUBLISHED[variant], str(checkpoint))
    tensors = {name: tensor.float().contiguous() for name, tensor in state.items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, {"variant": variant})


def load_passt(network: nn.Module, path: StrPath, settings: Settings) -> None:
    """Give a network the weights that `convert_passt` wrote. Raises InputError for others."""
    state = load_file(path)
    check_passt(state, settings, str(path))
    network.load_state_dict(state)


def check_passt(state: Mapping[str, Tensor], settings: Settings, source: str) -> None:
    """Raise InputError, naming what differs, unless `state` fits a network of `settings`."""
    with torch.device("meta"):
        actual, expected = shapes(state), shapes(Passt(settings).state_dict())
    if actual != expected:
        raise InputError(
            f"{source}: expected {len(expected)} tensors of a PaSST with stride "
            f"{list(settings.stride)}, {settings.frames} frames and {settings.depth} blocks of "
            f"{settings.dim}; found {len(actual)}, of which {differences(actual, expected)}. Fetch "
            "the checkpoint again, or take the model whose checkpoint this is."
        )

"""PaSST's published weights: fetched, checked tensor by tensor, kept as safetensors."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from triptych.audio.models.audio_encoders import PUBLISHED, PasstSettings
from triptych.audio.models.passt import Passt
from triptych.core.download import download
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import differences, read_state_dict, shapes

StrPath = str | os.PathLike[str]


def download_passt(url: str, path: StrPath, variant: str, **settings: Any) -> None:
    """Fetch the checkpoint of `variant` (a key of PUBLISHED) and write its tensors to `path`.

    `settings` are those of `core.download.download`. The checkpoint lies beside `path` meanwhile
    (`.pt.part`, from where a later run goes on) and is removed. Raises DownloadError, and
    InputError for a file that isn't this variant, of which no checksum is recorded.
    """
    checkpoint = Path(path).with_suffix(".pt")

    def check(file: Path) -> None:
        convert_passt(file, variant, path)

    download(url, checkpoint, check=check, **settings)
    checkpoint.unlink()


def convert_passt(checkpoint: StrPath, variant: str, path: StrPath) -> None:
    """Write the tensors of a published checkpoint (`.pt`) as float32 safetensors.

    Raises InputError for a file that holds anything but this variant's tensors.
    """
    settings = _published(variant)
    state = read_state_dict(
        checkpoint, f"the published checkpoint of {variant} (resources/sources.yaml)"
    )
    check_passt(state, settings, str(checkpoint))
    tensors = {name: tensor.float().contiguous() for name, tensor in state.items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, {"variant": variant})


def load_passt(network: nn.Module, path: StrPath) -> None:
    """Give a network the weights that `convert_passt` wrote. Raises InputError for others."""
    try:
        state = load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a safetensors file ({error}). Fetch it again.") from error
    check_passt(state, cast(PasstSettings, network.settings), str(path))
    network.load_state_dict(state)


def check_passt(state: Mapping[str, Tensor], settings: PasstSettings, source: str) -> None:
    """Raise InputError, naming what differs, unless `state` fits a network of `settings`."""
    found, expected = shapes(state), _shapes(settings)
    if found == expected:
        return
    fits = [name for name, other in PUBLISHED.items() if found == _shapes(other)]
    advice = (
        f"They are those of {fits[0]}: take that variant's stride and frames."
        if fits
        else "Fetch the checkpoint again, or take the model whose checkpoint this is."
    )
    raise InputError(
        f"{source}: expected {len(expected)} tensors of a PaSST with stride "
        f"{list(settings.stride)}, {settings.frames} frames and {settings.depth} blocks of "
        f"{settings.dim}; found {len(found)}, of which {differences(found, expected)}. {advice}"
    )


def _published(variant: str) -> PasstSettings:
    if variant not in PUBLISHED:
        raise InputError(f"no published PaSST {variant!r}; there are {', '.join(PUBLISHED)}")
    return PUBLISHED[variant]


def _shapes(settings: PasstSettings) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        return shapes(Passt(settings).state_dict())

"""Published checkpoints of PaSST: fetched, checked, and kept as safetensors."""

import os
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from triptych.audio.models.audio_encoders.passt import PUBLISHED
from triptych.audio.models.passt import check_passt
from triptych.core.download import download
from triptych.core.files import atomic_path
from triptych.core.weights import read_state_dict

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

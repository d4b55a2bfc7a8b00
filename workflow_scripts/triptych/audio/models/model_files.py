"""A retrieval model as a folder that needs nothing else.

`model.safetensors` holds the weights, `tokenizer.json` the tokenizer, and `model.json`, written
last, the settings, the text side's configuration and what its maker says about it.
"""

import json
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
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings, read_model_table
from triptych.audio.models.text_files import read_tokenizer
from triptych.core.download import download
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, link_or_copy
from triptych.core.weights import differences, read_state_dict, save_weights, shapes

StrPath = str | os.PathLike[str]


def build_model(
    settings: ModelSettings, text_folder: StrPath, audio_weights: StrPath | None, seed: int
) -> RetrievalModel:
    """A model at the start of its training, on the CPU.

    text_folder: a text model; audio_weights: what `convert_passt` wrote, or None. What isn't
    pretrained is a function of `seed`. Raises InputError for files that don't fit.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        text = SentenceEncoder.from_folder(text_folder, settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    if audio_weights is not None:
        load_passt(model.audio, audio_weights)
    return model


def save_model(
    model: RetrievalModel, folder: StrPath, about: dict[str, Any], weights: StrPath | None = None
) -> None:
    """Write a model into `folder`; about: whatever JSON holds; weights: what `save_weights` wrote
    of this model, to be shared with the folder instead of written again.
    """
    folder = Path(folder)
    if weights is None:
        save_weights(model, folder / "model.safetensors")
    else:
        link_or_copy(weights, folder / "model.safetensors")
    with atomic_path(folder / "tokenizer.json") as temporary:
        model.text.tokenizer.save(str(temporary), pretty=False)
    table = {"settings": model.settings.to_table(), "text": model.text.config, "about": about}
    with atomic_path(folder / "model.json") as temporary:
        temporary.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_model(folder: StrPath, device: torch.device | str = "cpu") -> RetrievalModel:
    """What `save_model` wrote, in evaluation mode. Raises InputError for another folder."""
    folder = Path(folder)
    table = read_model_table(folder)
    try:
        settings = ModelSettings.from_table(table["settings"])
        with torch.device("meta"):  # its weights come from the file
            text = SentenceEncoder(table["text"], read_tokenizer(folder), settings.text_dropout)
            audio = settings.audio.network()
        model = RetrievalModel(settings, audio, text)
        state = load_file(folder / "model.safetensors")
        state = {k: v.float() if v.dtype == torch.float16 else v for k, v in state.items()}
        model.load_state_dict(state, assign=True)
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: its files don't belong together or come from another version of this "
            f"project ({type(error).__name__}: {error}). Make the model again."
        ) from error
    return model.to(device).eval()


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


def load_passt(network: nn.Module, path: StrPath) -> None:
    """Give a network the weights that `convert_passt` wrote. Raises InputError for others."""
    state = load_file(path)
    check_passt(state, cast(PasstSettings, network.settings), str(path))
    network.load_state_dict(state)


def check_passt(state: Mapping[str, Tensor], settings: PasstSettings, source: str) -> None:
    """Raise InputError, naming what differs, unless `state` fits a network of `settings`."""
    with torch.device("meta"):
        found, expected = shapes(state), shapes(Passt(settings).state_dict())
    if found != expected:
        raise InputError(
            f"{source}: expected {len(expected)} tensors of a PaSST with stride "
            f"{list(settings.stride)}, {settings.frames} frames and {settings.depth} blocks of "
            f"{settings.dim}; found {len(found)}, of which {differences(found, expected)}. Fetch "
            "the checkpoint again, or take the model whose checkpoint this is."
        )

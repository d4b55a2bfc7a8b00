"""A retrieval model as a folder that needs nothing else.

`model.safetensors` holds the weights, `tokenizer.json` the tokenizer, and `model.json` the
settings, the text side's configuration and what its maker says about it. It is written last: a
folder with `model.json` is whole.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from triptych.audio.models.model_table import CLAP, read_model_table
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_files import read_tokenizer
from triptych.audio.models.weights import load_passt
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, link_or_copy

if TYPE_CHECKING:
    from triptych.audio.models.clap import Clap

StrPath = str | os.PathLike[str]


def build_model(
    settings: ModelSettings, text_folder: StrPath, audio_weights: StrPath | None, seed: int
) -> RetrievalModel:
    """A model at the start of its training, on the CPU.

    text_folder: a text model (`sentences.py`); audio_weights: what `weights.convert_passt` wrote,
    or None for an encoder from scratch. Everything that isn't pretrained is a function of `seed`.
    Raises InputError for files that don't fit.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        text = SentenceEncoder.from_folder(text_folder, settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    if audio_weights is not None:
        load_passt(model.audio, audio_weights)
    return model


class HasWeights(Protocol):
    """A module of PyTorch, as far as its weights go."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors by name."""


def save_weights(model: HasWeights, path: StrPath, half: bool = False) -> None:
    """Write a model's weights alone, as `save_model` and a training's checkpoint hold them.

    half: in half precision, which a model that is shipped is rounded to.
    """
    tensors = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
    if half:
        tensors = {k: v.half() if v.is_floating_point() else v for k, v in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary)


def save_model(
    model: RetrievalModel, folder: StrPath, about: dict[str, Any], weights: StrPath | None = None
) -> None:
    """Write a model into `folder`; about: whatever JSON holds, for people and tables.

    weights: what `save_weights` wrote of this model, to be shared with the folder instead of
    written again.
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


def open_model(folder: StrPath, device: torch.device | str = "cpu") -> "RetrievalModel | Clap":
    """A model of any kind, in evaluation mode. Raises InputError for another folder."""
    if read_model_table(folder).get("kind") != CLAP:
        return load_model(folder, device)
    from triptych.audio.models.clap import load_clap

    return load_clap(folder, device)

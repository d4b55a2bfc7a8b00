"""A retrieval model as a folder that needs nothing else.

`model.safetensors` holds the weights, `tokenizer.json` the tokenizer, and `model.json`, written
last, the settings, the text side's configuration and what its maker says about it.
"""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings, read_model_table
from triptych.audio.models.text_files import read_tokenizer
from triptych.core.errors import InputError
from triptych.core.files import atomic_path, link_or_copy
from triptych.core.weights import save_weights

StrPath = str | os.PathLike[str]


def build_model(
    settings: ModelSettings, text_folder: StrPath, audio_weights: StrPath | None, seed: int
) -> RetrievalModel:
    """A model at the start of its training, on the CPU.

    text_folder: a text model; audio_weights: published weights of its audio encoder, or None. The
    other weights are a function of `seed`. Raises InputError for files that don't fit.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        text = SentenceEncoder.from_folder(text_folder, settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    if audio_weights is not None:
        settings.audio.load(model.audio, audio_weights)
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
    """The model in a folder, in evaluation mode. Raises InputError if it is none."""
    folder = Path(folder)
    table = read_model_table(folder)
    try:
        settings = ModelSettings.from_table(table["settings"])
        with torch.random.fork_rng(devices=[]):
            text = SentenceEncoder(table["text"], read_tokenizer(folder), settings.text_dropout)
            with torch.device("meta"):  # its weights come from the file
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

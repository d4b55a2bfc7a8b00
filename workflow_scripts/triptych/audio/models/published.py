"""Checkpoints of whole retrieval models that others published: fetched, renamed, kept as a folder.

Read are PyTorch Lightning's files of the baseline of DCASE 2025 and of Salsa (DCASE 2024), by the
report's authors, whose models are PaSST, a sentence encoder and two linear projections as ours are.
"""

import os
import re
import shutil
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.audio.models.retrieval import RetrievalModel, save_model
from triptych.audio.models.sentences import SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_files import read_config, read_tokenizer
from triptych.core.download import download
from triptych.core.errors import InputError
from triptych.core.files import PARTIAL
from triptych.core.weights import differences, shapes

StrPath = str | os.PathLike[str]

PREFIXES = {
    "audio_embedding_model.model.model.": "audio.",
    "text_embedding_model.": "text.model.encoder.",  # DCASE 2025
    "sentence_embedding_model.": "text.model.encoder.",  # Salsa
    "audio_projection.": "project_audio.0.",
    "text_projection.": "project_sentence.0.",
    "project_audio.": "project_audio.",
    "project_sentence.": "project_sentence.",
    "tau": "temperature",
}
"""Beginnings of their tensors' names, and what ours are called."""
UNUSED = re.compile(
    r"(?:^|\.)mel\.|\.pooler\.|position_ids$|^(?:timing_tau|audio_token|posencode)(?:\.|$)"
)
"""Tensors through which no embedding of these models passes."""


class _Inert:
    """Inert stand-in for an object of a checkpoint that is no tensor."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass


def _stand_in(name: str) -> tuple[Any, str]:
    """A plain type for a class of this name; PyTorch fills none but true dicts and lists."""
    kinds = {"dict": OrderedDict, "list": list}
    kind = name.rpartition(".")[2].lower()
    return next((kinds[word] for word in kinds if word in kind), _Inert), name


def download_checkpoint(
    urls: Sequence[str],
    folder: StrPath,
    settings: ModelSettings,
    text_folder: StrPath,
    locks: Sequence[StrPath],
) -> None:
    """Fetch the parts of a checkpoint and write the model into `folder`.

    settings: of the model that it is; text_folder: its sentence encoder's tokenizer and
    configuration; locks: files that hold the parts' sizes and checksums, or will. Raises
    DownloadError, and InputError for a checkpoint of another model.
    """
    folder = Path(folder)
    parts = [folder.with_name(f"{folder.name}.{number}.ckpt") for number in range(1, len(urls) + 1)]
    for url, part, lock in zip(urls, parts, locks, strict=True):
        if not part.exists():
            download(url, part, lock=lock)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=PARTIAL) as room:
        whole = Path(room, f"{folder.name}.ckpt")
        with whole.open("wb") as stream:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, stream)
        convert_checkpoint(whole, folder, settings, text_folder)
    for part in parts:
        part.unlink()


def convert_checkpoint(
    path: StrPath, folder: StrPath, settings: ModelSettings, text_folder: StrPath
) -> None:
    """Write a checkpoint as one of our models. Raises InputError where its tensors differ."""
    state = renamed(read_lightning(path))
    text = SentenceEncoder(
        read_config(Path(text_folder)), read_tokenizer(Path(text_folder)), settings.text_dropout
    )
    with torch.device("meta"):  # its weights come from the file
        audio = settings.audio.network()
    model = RetrievalModel(settings, audio, text)
    actual, expected = shapes(state), shapes(model.state_dict())
    if actual != expected:
        raise InputError(
            f"{path}: expected the {len(expected)} tensors of a model with {settings.audio}; found "
            f"{len(actual)}, of which {differences(actual, expected)}. Check audio.published.pair"
        )
    model.load_state_dict({name: tensor.float() for name, tensor in state.items()}, assign=True)
    Path(folder).mkdir(parents=True, exist_ok=True)
    save_model(model, folder, {"label": Path(folder).name, "converted_from": Path(path).name})


def read_lightning(path: StrPath) -> dict[str, Tensor]:
    """The `state_dict` of a Lightning checkpoint, alone or in a zip archive.

    Settings and states of the training beside it are passed over; nothing in the file is executed.
    Raises InputError for any other file.
    """
    try:
        with tempfile.TemporaryDirectory(dir=Path(path).parent, prefix=PARTIAL) as room:
            if inside := [name for name in _members(path) if name.endswith((".ckpt", ".pt"))]:
                with zipfile.ZipFile(path) as archive:
                    path = archive.extract(inside[0], room)
            others = torch.serialization.get_unsafe_globals_in_checkpoint(path)
            with torch.serialization.safe_globals(list(map(_stand_in, others))):
                state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
        return {str(name): tensor for name, tensor in state.items() if isinstance(tensor, Tensor)}
    except Exception as error:  # torch raises many kinds for a damaged file
        raise InputError(
            f"{path}: no checkpoint of PyTorch Lightning ({type(error).__name__}: {error}); "
            "it is a file of tensors under state_dict. Open the address in "
            "resources/sources.yaml in a browser to see what is there now"
        ) from error


def _members(path: StrPath) -> list[str]:
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors by our names. torch.compile leaves its own part in names: `._orig_mod.`"""
    named: dict[str, Tensor] = {}
    for name, tensor in state.items():
        plain = name.replace("_orig_mod.", "")
        if UNUSED.search(plain):
            continue
        prefix = next((prefix for prefix in PREFIXES if plain.startswith(prefix)), "")
        named[PREFIXES.get(prefix, "") + plain.removeprefix(prefix)] = tensor
    return named

"""Finished retrieval models of other people, converted to folders that `model_files` reads.

Two of CP-JKU's are joint models like ours under other names: PaSST without overlap on segments of
10 s, RoBERTa, one linear map behind each. What their files hold, and where that is written, stands
in docs/audio-models.md.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.audio.models import clap
from triptych.audio.models.audio_encoders import PUBLISHED
from triptych.audio.models.model_files import save_model
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import KEEPS_END, SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_files import fetch_hub_files, read_config, read_tokenizer
from triptych.core.download import download, public_address, write_lock
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.weights import differences, read_lightning, shapes

SEGMENT_SECONDS = 10
PROJECTION = 1024
COMPILED = "_orig_mod."
"""What torch.compile puts into the names of a module's tensors."""


@dataclass(frozen=True)
class Layout:
    """What a Lightning file calls a `RetrievalModel`'s parts, and tensors that nothing needs."""

    audio: str
    text: str
    project_audio: str
    project_sentence: str
    unused: tuple[str, ...] = ()


LAYOUTS = {
    "dcase2025": Layout(
        "audio_embedding_model.model.model.",
        "text_embedding_model.",
        "audio_projection.",
        "text_projection.",
    ),
    "salsa": Layout(
        "audio_embedding_model.model.model.",
        "sentence_embedding_model.",
        "project_audio.0.",
        "project_sentence.0.",
        ("audio_token", "timing_tau", "posencode.pe", "posencode.w"),
    ),
}
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Counted numbers, which transformers kept among a text model's tensors once."""


def convert_lightning(
    checkpoint: str | os.PathLike[str],
    layout: str,
    text_folder: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    about: Mapping[str, Any],
) -> None:
    """Write the model in a Lightning checkpoint as a folder of ours.

    layout: of LAYOUTS; text_folder: `config.json` and `tokenizer.json` of its text model, whose
    weights are in the checkpoint; about: for `save_model`. Raises InputError, naming tensors, for a
    file that is damaged or holds another model.
    """
    expected = f"the Lightning checkpoint of {layout} (docs/audio-models.md)"
    state = _renamed(read_lightning(checkpoint, expected), LAYOUTS[layout])
    settings = ModelSettings(
        audio=PUBLISHED["passt_n"],
        segment_seconds=SEGMENT_SECONDS,
        projection=PROJECTION,
        temperature=0.05,  # as it began; the file says where it ended
        learn_temperature=False,
        text_dropout=0.2,
    )
    config = {**read_config(Path(text_folder)), KEEPS_END: True}
    with torch.device("meta"):  # its weights come from the file
        text = SentenceEncoder(config, read_tokenizer(Path(text_folder)), settings.text_dropout)
        model = RetrievalModel(settings, settings.audio.network(), text)
    if problems := differences(shapes(state), shapes(model.state_dict())):
        raise InputError(
            f"{checkpoint}: expected the {len(model.state_dict())} tensors of {expected}, as this "
            f"project names them; found {len(state)}, of which {problems}. Fetch it again; if the "
            "same comes, the checkpoint has changed at its source."
        )
    model.load_state_dict(state, assign=True)
    save_model(model, folder, dict(about))


def _renamed(state: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    """Tensors by the names of a `RetrievalModel`, float32; what that has not keeps its own name."""
    ours = {
        layout.audio: "audio.",
        layout.text: "text.model.",
        layout.project_audio: "project_audio.0.",
        layout.project_sentence: "project_sentence.0.",
    }
    unused = {*layout.unused, *(layout.text + name for name in BUFFERS)}
    renamed = {}
    for whole, tensor in state.items():
        name = whole.replace(COMPILED, "")
        if name in unused:
            continue
        theirs = next((prefix for prefix in ours if name.startswith(prefix)), "")
        name = "temperature" if name == "tau" else ours.get(theirs, "") + name.removeprefix(theirs)
        renamed[name] = tensor.float()
    return renamed


TEXT_FILES = ("config.json", "tokenizer.json")
"""Of a text model whose weights come with the joint model's."""

StrPath = str | os.PathLike[str]
Source = Mapping[str, Any]
"""An entry of resources/sources.yaml: of `finished`, or of `text_models`."""


def terms(source: Source) -> str:
    """What a person should know before a model is fetched: whose it is, its licence, its size."""
    return (
        f"{source['label']} ({source['homepage']}; {source['citation']})\n"
        f"licence: {source['licence']}\n"
        f"room on disk: {source['room']}"
    )


def write_finished(
    folder: StrPath,
    source: Source,
    text_models: Mapping[str, Source],
    lock: StrPath | None,
    **settings: Any,
) -> None:
    """Fetch a finished model and write it as a folder that `open_model` reads.

    text_models: where text models come from; lock: what the names of lock files begin with, None
    for no locks; settings: of `core.download.download`. Files wait in `<folder>.part`, from where
    a later attempt goes on. Raises DownloadError, and InputError for files that are not this model.
    """
    folder = Path(folder)
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    about = {key: source[key] for key in ("label", "homepage", "citation", "licence")}
    if source["layout"] == "clap":
        known = {clap.WEIGHTS: source["sha256"]}
        fetch_hub_files(
            source["repository"], source["revision"], clap.FILES, part / "hub", known, **settings
        )
        convert = partial(clap.convert_clap, part / "hub", part / "model", about)
        _kept_if_right(convert, [part / "hub" / clap.WEIGHTS])
    else:
        fetched = _fetch_parts(source["parts"], part, lock, **settings)
        text = text_models[source["text"]]
        fetch_hub_files(
            text["repository"], text["revision"], TEXT_FILES, part / "text", {}, **settings
        )
        checkpoint = _joined(fetched, part / "whole")
        convert = partial(
            convert_lightning, checkpoint, source["layout"], part / "text", part / "model", about
        )
        _kept_if_right(convert, [checkpoint, *fetched])
        for each, path, own in zip(source["parts"], fetched, _locks(lock, fetched), strict=True):
            if own is not None and each["sha256"] is None and not own.exists():
                write_lock(own, each["url"], path)
    (part / "model").rename(folder)
    shutil.rmtree(part)


def _fetch_parts(
    parts: Sequence[Source], folder: Path, lock: StrPath | None, **settings: Any
) -> list[Path]:
    """Each part, whole and checked. A lock is read here, and written when the model is right."""
    paths = [folder / f"{number}.ckpt" for number in range(1, len(parts) + 1)]
    for each, path, own in zip(parts, paths, _locks(lock, paths), strict=True):
        if not path.exists():
            held_to = own if own is not None and own.exists() else None
            download(each["url"], path, each["size"], each["sha256"], held_to, **settings)
    return paths


def _locks(lock: StrPath | None, paths: Sequence[Path]) -> list[Path | None]:
    return [None if lock is None else Path(f"{lock}-{path.stem}.json") for path in paths]


def _joined(parts: Sequence[Path], whole: Path) -> Path:
    """One file of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    with atomic_path(whole) as temporary, temporary.open("wb") as stream:
        for path in parts:
            with path.open("rb") as piece:
                shutil.copyfileobj(piece, stream, 1 << 20)
    return whole


def _kept_if_right(convert: partial[None], files: Sequence[Path]) -> None:
    """Convert; files that are refused go, or every later attempt would be refused the same."""
    try:
        convert()
    except InputError:
        for path in files:
            path.unlink(missing_ok=True)
        raise


def origins(source: Source) -> str:
    """The addresses that a model comes from, without what should not be told."""
    if "parts" in source:
        return ", ".join(public_address(each["url"]) for each in source["parts"])
    return f"{source['repository']} at {source['revision']} (Hugging Face hub)"

"""Finished retrieval models of other people, converted to folders that `model_files` reads.

Two of CP-JKU's are joint models like ours under other names: PaSST without overlap on segments of
10 s, RoBERTa, one linear map behind each. What their files hold, and where that is written, stands
in docs/audio-models.md.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from triptych.audio.models.audio_encoders import PUBLISHED
from triptych.audio.models.model_files import save_model
from triptych.audio.models.retrieval import RetrievalModel
from triptych.audio.models.sentences import KEEPS_END, SentenceEncoder
from triptych.audio.models.settings import ModelSettings
from triptych.audio.models.text_files import read_config, read_tokenizer
from triptych.core.errors import InputError
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

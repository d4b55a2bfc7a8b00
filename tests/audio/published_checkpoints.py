"""Made-up checkpoints of the names and shapes that others published."""

import dataclasses
import types

import torch
from audio_small_models import SMALL

PASST = dataclasses.replace(SMALL.audio, frames=1000, depth=1, patchout=(2, 15), classes=5)
SETTINGS = dataclasses.replace(SMALL, audio=PASST, segment_seconds=10)


class ReadOnlyDict(dict):
    """An object of a class that nobody allows, as sacred leaves them in a checkpoint."""


def theirs(state, kind):
    """A model's tensors by the names that its authors' code gives them.

    dcase2025: AudioRetrievalModel of d25_t6/retrieval_module.py, compiled; salsa: that of
    experiments/ex_dcase24.py, with the parts that it has and a PaSST without sequence doesn't use.
    """
    inner = "_orig_mod." if kind == "dcase2025" else ""
    text = "text_embedding_model" if kind == "dcase2025" else "sentence_embedding_model"
    named = {}
    for name, tensor in state.items():
        first, _, rest = name.partition(".")
        if first == "audio":
            named[f"audio_embedding_model.model.model.{inner}{rest}"] = tensor
        elif first == "text":
            named[f"{text}.{inner}{rest.removeprefix('model.encoder.')}"] = tensor
        elif first == "temperature":
            named["tau"] = tensor
        else:
            of_text = first == "project_sentence"
            projection = f"{'text' if of_text else 'audio'}_projection.{rest.removeprefix('0.')}"
            named[projection if kind == "dcase2025" else name] = tensor
    if kind == "salsa":
        named["timing_tau"] = torch.ones(1)
        named["audio_token"] = torch.randn(1, 1, 768)
        named["posencode.pe"] = torch.randn(1, 192, 768)
        named[f"{text}.embeddings.position_ids"] = torch.arange(514)[None]
    return named


def checkpoint(path, state):
    """A Lightning checkpoint: tensors, counters and the objects of a training."""
    torch.save(
        {
            "epoch": 19,
            "pytorch-lightning_version": "2.5.0",
            "state_dict": state,
            "optimizer_states": [{"state": {0: {"step": torch.ones(())}}}],
            "hyper_parameters": ReadOnlyDict(seed=13, audio_features=ReadOnlyDict(model="passt")),
            "callbacks": {"ModelCheckpoint": {"best_model_score": torch.ones(())}},
            "loops": types.SimpleNamespace(fit=1),
        },
        path,
    )
    return path

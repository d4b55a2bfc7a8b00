"""Writing a model's text side as ONNX, for `text_side`."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from triptych.audio.search.text_side import (
    INPUTS,
    NETWORK,
    OUTPUT,
    TABLE,
    TOKENIZER,
    TOLERANCE,
    TextSide,
)
from triptych.core.errors import InputError
from triptych.core.files import partial_prefix
from triptych.core.weights import exported

TRIED = ("rain", "A dog barks twice, far away; then somebody shuts a heavy door.", "", "wind " * 90)
"""Texts of which the written network must say what PyTorch says: short, long, empty, cut."""


class Tokenises(Protocol):
    """The text side of a model, with what stands between a text and its tokens.

    cleans: whether texts lose capitals and punctuation (`clean_caption`); longest: tokens, beyond
    which they are cut.
    """

    cleans: bool
    longest: int
    tokenizer: Tokenizer

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask`, [captions, tokens]."""


class TextModel(Protocol):
    """What of a model, which is a module of PyTorch, is written."""

    @property
    def text(self) -> Tokenises:
        """Its text side."""

    def embed_text(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """What `text.tokenize` gave to unit vectors [captions, D]."""


class _Text(nn.Module):
    """Tokens to unit vectors, as a network of two inputs."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.model.embed_text({"input_ids": ids, "attention_mask": mask})


def write_text_side(model: TextModel, model_sha256: str, folder: Path) -> None:
    """Write the text side of a model (on the CPU, in evaluation mode) into a folder, whole.

    Raises InputError where the written network says otherwise than PyTorch.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=partial_prefix(folder)) as made:
        written = Path(made) / folder.name
        written.mkdir()
        _export(_Text(model), written / NETWORK)
        text = model.text
        text.tokenizer.save(str(written / TOKENIZER), pretty=False)
        table = {"model_sha256": model_sha256, "cleans": text.cleans, "longest": text.longest}
        (written / TABLE).write_text(json.dumps(table) + "\n", encoding="utf-8")
        _compare(TextSide(written), model)
        if folder.exists():
            shutil.rmtree(folder)
        written.rename(folder)


def _export(network: nn.Module, path: Path) -> None:
    ids = torch.ones(2, 9, dtype=torch.int64)  # no size of which is special
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = exported(network, (ids, torch.ones_like(ids)), INPUTS, OUTPUT, (sizes, sizes))
    for node in program.model.graph:
        node.metadata_props.clear()  # traces
    program.save(path, external_data=True)


def _compare(written: TextSide, model: TextModel) -> None:
    for each in TRIED:
        with torch.inference_mode():
            expected = model.embed_text(model.text.tokenize([each]))[0].numpy()
        apart = float(np.abs(written.text(each) - expected).max())
        if not apart <= TOLERANCE:
            raise InputError(
                f"the text side as ONNX differs from PyTorch's by {apart:.1e} for {each[:40]!r}, "
                f"at most {TOLERANCE:.0e} is allowed: report this with the model's name"
            )

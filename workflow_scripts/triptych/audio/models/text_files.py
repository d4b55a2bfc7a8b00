"""Text models as folders: `config.json`, `tokenizer.json`, and `model.safetensors` if pretrained.

Small ones from scratch are written here, without PyTorch: they have no weights yet.
"""

import json
import os
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from triptych.audio.models.wordpieces import train_tokenizer
from triptych.core.errors import InputError

TOKENIZER_CLASSES = {"words": "BertTokenizer", "bytes": "RobertaTokenizer"}
"""What the transformers library calls them."""
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


def write_scratch_model(
    folder: str | os.PathLike[str],
    config: Mapping[str, Any],
    pieces: str,
    captions: Iterable[str],
) -> None:
    """Write a small text model without weights, its tokenizer trained on `captions`.

    The same captions in whatever order give the same bytes. config: of the network, its
    `vocab_size` about how many tokens; letters (or bytes) and special tokens are always among
    them. pieces: `words` or `bytes`. Raises ValueError for other pieces or without captions.
    """
    folder = Path(folder)
    tokenizer = train_tokenizer(pieces, config["vocab_size"], map(clean_caption, captions))
    tables = {
        "tokenizer_config.json": {"tokenizer_class": TOKENIZER_CLASSES[pieces]},
        "config.json": {**config, "vocab_size": tokenizer.get_vocab_size()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")

"""Text models as folders: `config.json`, `tokenizer.json`, and `model.safetensors` if pretrained.

Small ones from scratch are written here, without PyTorch: they have no weights yet.
"""

import json
import os
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer

from triptych.audio.models.wordpieces import train_tokenizer
from triptych.core.errors import InputError

TextClass = Literal["bert", "roberta"]
CLASSES: tuple[TextClass, ...] = ("bert", "roberta")
LONGEST_TOKENS = 32
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def clean_caption(text: str) -> str:
    """A caption as the text side reads it: lower case, without ASCII punctuation."""
    return text.lower().translate(WITHOUT_PUNCTUATION)


def read_config(folder: Path) -> dict[str, Any]:
    """A text model's `config.json`. Raises InputError where it isn't a BERT's or a RoBERTa's."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read as a text model's configuration ({error}). A text model is a "
            "folder with config.json, tokenizer.json and, where pretrained, model.safetensors."
        ) from error
    if kind not in CLASSES:
        raise InputError(f"{path}: model_type is {kind!r}, expected {' or '.join(CLASSES)}")
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
    class_: TextClass,
    hidden: int,
    layers: int,
    heads: int,
    vocabulary: int,
    captions: Iterable[str],
) -> None:
    """Write a small text model without weights, its tokenizer trained on `captions`.

    The same captions in whatever order give the same bytes. vocabulary: about how many tokens;
    letters (or bytes) and special tokens are always among them. Raises ValueError for an unknown
    class or without captions.
    """
    folder = Path(folder)
    tokenizer = train_tokenizer(class_, vocabulary, map(clean_caption, captions))
    special = 2 if class_ == "roberta" else 0  # RoBERTa counts positions from beyond its padding
    config = {
        "model_type": class_,
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
        "hidden_act": "gelu",
        "max_position_embeddings": 2 * LONGEST_TOKENS + special,
        "type_vocab_size": 1 if class_ == "roberta" else 2,
        # As published at 768 dimensions, of a spread that keeps activations alike at any width.
        "initializer_range": 0.02 * (768 / hidden) ** 0.5,
        "layer_norm_eps": 1e-5 if class_ == "roberta" else 1e-12,
        "pad_token_id": 1 if class_ == "roberta" else 0,
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    kind = {"tokenizer_class": "RobertaTokenizer" if class_ == "roberta" else "BertTokenizer"}
    for name, table in (("tokenizer_config.json", kind), ("config.json", config)):
        (folder / name).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")

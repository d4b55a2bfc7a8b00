"""The trained model that searches a person's own sounds, and its text side.

The text side is kept beside an index: texts to embeddings without PyTorch, whose import takes
seconds, ONNX Runtime's a fraction of one. The folder holds the network (`text.onnx`; weights of
more than 8 bits in `text.onnx.data`, which are mapped and not read), `tokenizer.json`, and
`text.json`, which says how a text is prepared and whose text side it is.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from unicodedata import name

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from triptych.audio.captions.rules import ENGLISH, FOREIGN, words_of
from triptych.audio.models.settings import read_model_table
from triptych.audio.models.text_files import clean_caption
from triptych.core.errors import InputError
from triptych.core.files import sha256_of

CAUTION = (
    "The model has heard only computed sounds: of real recordings the first hit is often wrong."
)
_HOW = (
    "give --model small or clap, or a folder such as snakemake audio --configfile "
    "config/paper.yaml leaves below results/audio/models"
)
NETWORK, TOKENIZER, TABLE = "text.onnx", "tokenizer.json", "text.json"
WEIGHTS = "model.safetensors"
INPUTS, OUTPUT = ("ids", "mask"), "unit_vectors"


def checked_model(folder: Path) -> tuple[Path, str]:
    """The absolute folder of a model and the SHA-256 of its weights. Raises InputError."""
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise InputError(f"{folder} is no trained model, it has no {WEIGHTS}: {_HOW}")
    return folder.resolve(), sha256_of(weights)


def caution(folder: Path) -> str:
    """A warning if the model in a folder has been trained on computed sounds only, else ""."""
    try:
        about = read_model_table(folder)["about"]
    except InputError:  # moved since it made the index
        return ""
    sources = set(about.get("sources", {}).values()) - {"none"}
    return CAUTION if sources == {"synthesised"} else ""


def segment_seconds(folder: Path) -> float:
    """Seconds of sound that a model hears at once. Raises InputError."""
    table = read_model_table(folder)
    try:
        return float(table["settings"]["segment_seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder}: not a trained model, its model.json doesn't tell the seconds of its "
            "segments"
        ) from error


def text_folder(index: Path) -> Path:
    return index.with_suffix(".text")


def digest_of_model(folder: Path) -> str | None:
    """SHA-256 of the weights of the model whose text side lies in a folder; None for no folder."""
    try:
        table = json.loads((folder / TABLE).read_text(encoding="utf-8"))
        return str(table["model_sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


class TextSide:
    """The text side in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError for a folder whose files can't be used."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # Weights in the order of another product would be a copy of all of them, made each time.
        options.add_session_config_entry("session.disable_prepacking", "1")
        try:
            table: dict[str, Any] = json.loads((folder / TABLE).read_text(encoding="utf-8"))
            self._cleans, self._longest = bool(table["cleans"]), int(table["longest"])
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            self._session = onnxruntime.InferenceSession(
                str(folder / NETWORK), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # neither library has a type of its own for a damaged file
            raise InputError(
                f"{folder} does not hold a text side that can be used ({error}); remove it and run "
                "triptych index FOLDER again, which writes it again"
            ) from error

    def text(self, text: str) -> NDArray[np.float32]:
        """Normalised embedding [D] of a text."""
        encoding = self._tokenizer.encode(clean_caption(text) if self._cleans else text)
        rows = (encoding.ids, encoding.attention_mask)
        tokens = {
            name: np.array([row[: self._longest]], np.int64)
            for name, row in zip(INPUTS, rows, strict=True)
        }
        vector: NDArray[np.float32] = self._session.run([OUTPUT], tokens)[0][0]
        return vector

    def may_be_foreign(self, text: str) -> bool:
        """Whether a text has signs of another language, or none of English and mostly rare words.

        Such words are those that the tokenizer takes apart.
        """
        words = words_of(text)
        latin = all(name(letter, "").startswith("LATIN") for letter in text if letter.isalpha())
        if not latin or not FOREIGN.isdisjoint(words):
            return True
        if any(word in ENGLISH or word.endswith(("ing", "ed", "ly")) for word in words):
            return False
        encoding = self._tokenizer.encode(f" {text}", add_special_tokens=False)
        tokens = Counter(word for word in encoding.word_ids if word is not None)
        return sum(count > 1 for count in tokens.values()) > len(tokens) / 2

"""A model's text side, kept beside an index: texts to embeddings without PyTorch.

Importing PyTorch takes seconds, ONNX Runtime a fraction of one. The folder holds the network
(`text.onnx`; weights of more than 8 bits in `text.onnx.data`, which are mapped and not read),
`tokenizer.json`, and `text.json`, which says how a text is prepared and whose text side it is.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from triptych.audio.models.text_files import clean_caption
from triptych.core.errors import InputError

NETWORK, TOKENIZER, TABLE = "text.onnx", "tokenizer.json", "text.json"
INPUTS, OUTPUT = ("ids", "mask"), "unit_vectors"


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

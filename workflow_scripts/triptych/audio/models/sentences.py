"""The text side: a sentence encoder with its tokenizer, published or small and from scratch.

A caption loses its capitals and its punctuation, and its tokens are cut to 32, as in the report's
code.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from triptych.audio.models.minilm import Phrases
from triptych.audio.models.sentence_encoders import LONGEST_TOKENS, SENTENCE_ENCODERS
from triptych.audio.models.sentence_networks import published_tensors
from triptych.audio.models.text_files import clean_caption, read_config, read_tokenizer
from triptych.core.errors import InputError


class SentenceEncoder(nn.Module):
    """Captions to embeddings. Its tokenizer is part of it."""

    cleans = True  # a caption loses capitals and punctuation
    longest = LONGEST_TOKENS

    def __init__(self, config: Mapping[str, Any], tokenizer: Tokenizer, dropout: float) -> None:
        """An encoder with random weights. config: `config.json`. Raises InputError for an unknown
        one.
        """
        super().__init__()
        kind = config["model_type"]
        if kind not in (*SENTENCE_ENCODERS, "phrases"):
            allowed = " or ".join(SENTENCE_ENCODERS)
            raise InputError(f"config.json: model_type is {kind!r}, expected {allowed}")
        self.config = dict(config)
        self.tokenizer = tokenizer
        if kind == "phrases":
            self.model: nn.Module = Phrases(config)
        else:
            self.model = SENTENCE_ENCODERS[kind].network(config, dropout)
        tokenizer.no_truncation()
        padding = self.config["pad_token_id"]
        tokenizer.enable_padding(pad_id=padding, pad_token=tokenizer.id_to_token(padding))

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], dropout: float) -> "SentenceEncoder":
        """The encoder in a folder, with its weights if it has any, else with random ones.

        dropout: in training. Raises InputError for a folder that isn't a whole text model.
        """
        folder = Path(folder)
        encoder = cls(read_config(folder), read_tokenizer(folder), dropout)
        if (folder / "model.safetensors").exists():
            _load(encoder.model, folder / "model.safetensors")
        return encoder

    def tokenize(self, captions: Sequence[str]) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask`, [captions, tokens up to 32], on the CPU.

        Captions are cleaned and padded, then cut: of a long one the last token goes too, as in the
        report.
        """
        encodings = self.tokenizer.encode_batch([clean_caption(caption) for caption in captions])
        return {
            "input_ids": torch.tensor([one.ids[: self.longest] for one in encodings]),
            "attention_mask": torch.tensor(
                [one.attention_mask[: self.longest] for one in encodings]
            ),
        }

    def forward(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """Tokens to embeddings [captions, hidden_size]."""
        device = next(self.model.parameters()).device
        return self.model(tokens["input_ids"].to(device), tokens["attention_mask"].to(device))


def _load(model: nn.Module, path: Path) -> None:
    state, wanted = published_tensors(load_file(path)), model.state_dict()
    missing = sorted(
        name
        for name, value in wanted.items()
        if name not in state or state[name].shape != value.shape
    )
    if missing:
        raise InputError(
            f"{path}: {len(missing)} tensors are missing or of another shape than config.json "
            f"says, the first is {missing[0]}. Fetch the folder again."
        )
    model.load_state_dict({name: state[name] for name in wanted})

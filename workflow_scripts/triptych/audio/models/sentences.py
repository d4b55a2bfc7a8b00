"""The text side of a model: a sentence encoder with its tokenizer.

A caption loses its capitals and its punctuation, and its tokens are cut to 32, as in the report's
code.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from triptych.audio.models import sentence_encoders
from triptych.audio.models.entries import encoder_names, settings_class
from triptych.audio.models.sentence_encoders import LONGEST_TOKENS
from triptych.audio.models.text_files import clean_caption, read_config, read_tokenizer
from triptych.audio.models.transformer import Transformer


class SentenceEncoder(nn.Module):
    """Captions to embeddings. Its tokenizer is part of it."""

    cleans = True  # a caption loses capitals and punctuation
    longest = LONGEST_TOKENS

    def __init__(
        self,
        config: Mapping[str, Any],
        tokenizer: Tokenizer,
        dropout: float,
        weights: Path | None = None,
    ) -> None:
        """config: `config.json`; dropout: in training; weights: the folder with a pretrained model
        of the transformers library, None for random weights. Raises InputError if they don't fit.
        """
        super().__init__()
        self.config = dict(config)
        self.tokenizer = tokenizer
        self.model = _network(config, dropout, weights)
        tokenizer.no_truncation()
        padding = self.config["pad_token_id"]
        tokenizer.enable_padding(pad_id=padding, pad_token=tokenizer.id_to_token(padding))

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], dropout: float) -> "SentenceEncoder":
        """The encoder in a folder, with its weights if it has any, else with random ones.

        Raises InputError for a folder that isn't a whole text model.
        """
        folder = Path(folder)
        weights = folder if (folder / "model.safetensors").exists() else None
        return cls(read_config(folder), read_tokenizer(folder), dropout, weights)

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


def _network(config: Mapping[str, Any], dropout: float, weights: Path | None) -> nn.Module:
    if weights is not None:
        return Transformer.from_folder(weights, config, dropout)
    kind, package = config["model_type"], sentence_encoders.__name__
    if kind in encoder_names(package):
        network: nn.Module = settings_class(package, kind).network(config, dropout)
        return network
    return Transformer.from_config(config, dropout)

"""The text side of a model: a sentence encoder with its tokenizer, such as BERT and RoBERTa of the
transformers library.

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
from triptych.core.errors import InputError


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


DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")
"""Keys under which architectures have their rates of dropout."""


class Transformer(nn.Module):
    """Token ids to a caption's embedding: the last layer's first token, or the mean over tokens
    where `pooling` in the config is "mean".
    """

    def __init__(self, encoder: nn.Module, pooling: str) -> None:
        super().__init__()
        if hasattr(encoder, "pooler"):
            setattr(encoder, "pooler", None)  # noqa: B010 - a layer that the report doesn't use
        self.encoder, self._pooling = encoder, pooling

    @classmethod
    def from_config(cls, config: Mapping[str, Any], dropout: float) -> "Transformer":
        """An encoder of these sizes (`config.json`) with random weights, as published.

        dropout: of hidden states and of attention, in training. Raises InputError for a config
        that the library refuses.
        """
        from transformers import AutoModel  # imported here: it takes seconds

        try:
            encoder = AutoModel.from_config(_settings(config, dropout), dtype=torch.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"config.json: {error}") from error
        return cls(encoder, config.get("pooling", "first"))

    @classmethod
    def from_folder(cls, folder: Path, config: Mapping[str, Any], dropout: float) -> "Transformer":
        """The encoder in a folder with its weights. Raises InputError if they don't fit."""
        from transformers import AutoModel
        from transformers.utils import logging

        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # about heads in the file that an encoder doesn't need
        logging.disable_progress_bar()
        try:
            encoder, loaded = AutoModel.from_pretrained(
                folder,
                config=_settings(config, dropout),
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
            )
        except (ValueError, KeyError, TypeError, RuntimeError, OSError) as error:
            raise InputError(f"{folder}: {error}") from error
        finally:
            logging.set_verbosity(verbosity)
        if missing := [name for name in loaded["missing_keys"] if "pooler" not in name]:
            raise InputError(
                f"{folder}: {len(missing)} tensors are missing, the first is {sorted(missing)[0]}. "
                "Fetch the folder again."
            )
        return cls(encoder, config.get("pooling", "first"))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask: [N, tokens], where the mask is 0 for padding. Returns [N, hidden_size]."""
        x: Tensor = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        if self._pooling != "mean":
            return x[:, 0]
        weights = mask[:, :, None].to(x.dtype)
        return (x * weights).sum(1) / weights.sum(1)


def _settings(config: Mapping[str, Any], dropout: float) -> Any:
    from transformers import AutoConfig

    values = {**config, **dict.fromkeys(DROPOUTS, dropout)}
    return AutoConfig.for_model(**values)

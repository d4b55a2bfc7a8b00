"""Sentence encoders of the transformers library, such as BERT and RoBERTa."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from triptych.core.errors import InputError

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

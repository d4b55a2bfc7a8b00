"""The networks of the text side: BERT and RoBERTa of the transformers library.

BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019) make a caption's embedding: the last layer's
first token, or the mean over tokens where the config's `pooling` is "mean". Tensors have the names
of the published files.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from triptych.core.errors import InputError

CONFIG_KEYS = (
    "model_type",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "pad_token_id",
)
"""What of a `config.json` makes the encoder: the library would guess what is missing."""


class Encoder(nn.Module):
    """Token ids to a caption's embedding, with random weights as published.

    config: what `config.json` holds (vocab_size, hidden_size, num_hidden_layers, ...).
    dropout: of hidden states and of attention, in training. Raises InputError for a config that
    lacks something or that the library refuses.
    """

    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        if missing := [key for key in CONFIG_KEYS if key not in config]:
            raise InputError(f"config.json: {', '.join(missing)} not found. Fetch it again.")
        # Making the library's modules draws numbers, of which we draw our own below.
        with torch.random.fork_rng(devices=[]):
            self.embeddings, self.encoder = _modules(config, dropout)
        self._padding = config["pad_token_id"]
        self._from_padding = config["model_type"] == "roberta"
        self._mean = config.get("pooling") == "mean"
        parts = self.embeddings
        tables = parts.word_embeddings, parts.position_embeddings, parts.token_type_embeddings
        learnt = [
            module
            for module in (*tables, *self.encoder.modules())
            if isinstance(module, nn.Linear | nn.Embedding)
        ]
        for module in learnt:
            nn.init.normal_(module.weight, std=config.get("initializer_range", 0.02))
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
            elif module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx])

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask: [N, tokens], where the mask is 0 for padding. Returns [N, hidden_size]."""
        x, seen = self._embedded(ids), mask.bool()[:, None, None]
        for layer in self.encoder.layer:
            x = layer(x, seen)
        if not self._mean:
            return x[:, 0]
        weights = mask[:, :, None].to(x.dtype)
        return (x * weights).sum(1) / weights.sum(1)

    def _embedded(self, ids: Tensor) -> Tensor:
        """Words, positions and the one type of sentence, added and normalised."""
        parts = self.embeddings
        if self._from_padding:  # RoBERTa counts positions from beyond its padding
            word = (ids != self._padding).long()
            positions = word.cumsum(1) * word + self._padding
        else:
            positions = torch.arange(ids.shape[1], device=ids.device)[None]
        x = parts.word_embeddings(ids) + parts.token_type_embeddings.weight[0]
        return parts.dropout(parts.LayerNorm(x + parts.position_embeddings(positions)))


def _modules(config: Mapping[str, Any], dropout: float) -> tuple[Any, Any]:
    """The library's embeddings and layers; importing them takes seconds."""
    kinds: tuple[Any, Any, Any]
    if config["model_type"] == "roberta":
        from transformers.models.roberta import configuration_roberta, modeling_roberta

        kinds = (
            configuration_roberta.RobertaConfig,
            modeling_roberta.RobertaEmbeddings,
            modeling_roberta.RobertaEncoder,
        )
    else:
        from transformers.models.bert import configuration_bert, modeling_bert

        kinds = (
            configuration_bert.BertConfig,
            modeling_bert.BertEmbeddings,
            modeling_bert.BertEncoder,
        )
    rates = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), dropout)
    try:
        made = kinds[0].from_dict({**config, **rates})
        made._attn_implementation = "sdpa"
        embeddings, layers = kinds[1](made), kinds[2](made)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"config.json: {error}") from error
    # Numbers counted in advance, which no file has and `_embedded` doesn't need.
    for name in list(dict(embeddings.named_buffers())):
        delattr(embeddings, name)
    return embeddings, layers


def published_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A published file's tensors by the names of `Encoder`: without the model's own prefix, and
    norms' oldest names. Heads and poolers are still among them.
    """
    renamed = {}
    for name, value in state.items():
        for prefix in ("bert.", "roberta."):
            name = name.removeprefix(prefix)
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        renamed[name.replace("LayerNorm.beta", "LayerNorm.bias")] = value
    return renamed

"""The encoders BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019), as far as a caption's
embedding needs them: the last layer's first token.

Tensors bear the names of the published files, so that these load as they are. The transformers
library has the same networks; importing them takes longer than most jobs of the demo compute.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

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
"""What of a `config.json` makes the encoder; the rest says where the model came from."""

DEFAULTS = {"hidden_act": "gelu", "initializer_range": 0.02, "layer_norm_eps": 1e-12}
"""BERT's as published, where a `config.json` doesn't say otherwise."""


class Encoder(nn.Module):
    """Token ids to the embedding of the first token, with random weights as published.

    config: what `config.json` holds (vocab_size, hidden_size, num_hidden_layers, ...).
    dropout: of hidden states and of attention, in training. Raises InputError for an activation
    other than GELU, for heads that don't divide the width, and for what the config lacks.
    """

    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        if missing := [key for key in CONFIG_KEYS if key not in config]:
            raise InputError(f"config.json: {', '.join(missing)} not found. Fetch it again.")
        config = {**DEFAULTS, **config}
        if config["hidden_act"] != "gelu":
            raise InputError(f"config.json: hidden_act is {config['hidden_act']!r}, expected gelu")
        if config["hidden_size"] % config["num_attention_heads"]:
            raise InputError(
                f"config.json: hidden_size {config['hidden_size']} is no multiple of "
                f"num_attention_heads {config['num_attention_heads']}"
            )
        self.embeddings = _Embeddings(config, dropout)
        self.encoder = _Layers(config, dropout)
        self.apply(lambda module: _initialise(module, config["initializer_range"]))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask: [N, tokens], where the mask is 0 for padding. Returns [N, hidden_size]."""
        return self.upper(self.lower(ids, mask, 0), mask, 0)

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.encoder.layer)

    def lower(self, ids: Tensor, mask: Tensor, layers: int) -> Tensor:
        """Tokens [N, tokens, hidden_size] behind the first `layers` layers, not all of them."""
        x, seen = self.embeddings(ids), _seen(mask)
        for layer in self.encoder.layer[:layers]:
            x = layer(x, x, seen)
        return x

    def upper(self, x: Tensor, mask: Tensor, layers: int) -> Tensor:
        """What `lower` gave to embeddings [N, hidden_size], by the other layers."""
        *others, last = self.encoder.layer[layers:]
        seen = _seen(mask)
        for layer in others:
            x = layer(x, x, seen)
        return last(x[:, :1], x, seen)[:, 0]

    def upper_modules(self, layers: int) -> list[nn.Module]:
        """What `upper` computes by."""
        return list(self.encoder.layer[layers:])


def _seen(mask: Tensor) -> Tensor:
    """[N, tokens] as attention wants it, [N, 1, 1, tokens]."""
    return mask.bool()[:, None, None]


class _Embeddings(nn.Module):
    """Words, positions and the one type of sentence, added and normalised."""

    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        width, self._padding = config["hidden_size"], config["pad_token_id"]
        self._from_padding = config["model_type"] == "roberta"
        self.word_embeddings = nn.Embedding(config["vocab_size"], width, self._padding)
        # RoBERTa counts positions from beyond its padding, whose own embedding never learns.
        self.position_embeddings = nn.Embedding(
            config["max_position_embeddings"], width, self._padding if self._from_padding else None
        )
        self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"])
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        if self._from_padding:
            word = (ids != self._padding).long()
            positions = word.cumsum(1) * word + self._padding
        else:
            positions = torch.arange(ids.shape[1], device=ids.device)[None]
        x = self.word_embeddings(ids) + self.token_type_embeddings.weight[0]
        return self.dropout(self.LayerNorm(x + self.position_embeddings(positions)))


class _Layers(nn.Module):
    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        layers = (_Layer(config, dropout) for _ in range(config["num_hidden_layers"]))
        self.layer = nn.ModuleList(layers)


class _Layer(nn.Module):
    """Attention, then a network of two layers on each token; a residual and a norm after each."""

    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.attention = _Attention(config, dropout)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _Residual(inner, width, config, dropout)

    def forward(self, x: Tensor, context: Tensor, seen: Tensor) -> Tensor:
        """x [N, q, width] looks at context [N, tokens, width], where `seen` [N, 1, 1, tokens]."""
        x = self.attention(x, context, seen)
        return self.output(functional.gelu(self.intermediate["dense"](x)), x)


class _Attention(nn.Module):
    def __init__(self, config: Mapping[str, Any], dropout: float) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.heads, self.dropped = config["num_attention_heads"], dropout
        self.self = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        )
        self.output = _Residual(width, width, config, dropout)

    def forward(self, x: Tensor, context: Tensor, seen: Tensor) -> Tensor:
        attended = functional.scaled_dot_product_attention(
            self._by_head("query", x),
            self._by_head("key", context),
            self._by_head("value", context),
            attn_mask=seen,
            dropout_p=self.dropped if self.training else 0.0,
        )
        return self.output(attended.transpose(1, 2).flatten(2), x)

    def _by_head(self, name: str, tokens: Tensor) -> Tensor:
        """[N, tokens, width] as [N, heads, tokens, width / heads]."""
        return self.self[name](tokens).unflatten(-1, (self.heads, -1)).transpose(1, 2)


class _Residual(nn.Module):
    """A linear layer, dropout, and the norm of the sum with what went by."""

    def __init__(
        self, inputs: int, outputs: int, config: Mapping[str, Any], dropout: float
    ) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)
        self.LayerNorm = nn.LayerNorm(outputs, eps=config["layer_norm_eps"])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


def _initialise(module: nn.Module, deviation: float) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=deviation)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()


def published_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A published file's tensors by the names of `Encoder`: without the model's own prefix.

    Files of masked language models have one, and the oldest call a norm's weight and bias gamma
    and beta. What `Encoder` doesn't have, heads and poolers, is still among them.
    """
    renamed = {}
    for name, value in state.items():
        for prefix in ("bert.", "roberta."):
            name = name.removeprefix(prefix)
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        renamed[name.replace("LayerNorm.beta", "LayerNorm.bias")] = value
    return renamed

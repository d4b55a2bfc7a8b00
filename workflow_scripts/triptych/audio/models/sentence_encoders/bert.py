"""BERT (Devlin et al. 2019), of the transformers library."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.sentence_encoders import LONGEST_TOKENS, SentenceSettings

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Settings(SentenceSettings):
    """BERT's sizes."""

    layers: int
    heads: int
    positions: int = 2 * LONGEST_TOKENS

    types: ClassVar[int] = 2
    epsilon: ClassVar[float] = 1e-12

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}")

    @staticmethod
    def network(config: Mapping[str, Any], dropout: float) -> "nn.Module":
        from triptych.audio.models.sentences import Transformer

        return Transformer.from_config(config, dropout)

    def config(self) -> dict[str, Any]:
        """The content of `config.json`, as the transformers library reads it."""
        return {
            **super().config(),
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "intermediate_size": 4 * self.hidden,
            "hidden_act": "gelu",
            "max_position_embeddings": self.positions,
            "type_vocab_size": self.types,
            # As published at 768 dimensions, of a spread that keeps activations alike at any width.
            "initializer_range": 0.02 * (768 / self.hidden) ** 0.5,
            "layer_norm_eps": self.epsilon,
        }

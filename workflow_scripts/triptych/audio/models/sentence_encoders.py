"""The sentence encoders: what `class` of a text model in the config can be.

Each is a frozen dataclass of settings whose fields without a default are keys of its entry, for a
model from scratch. Planning reads them without PyTorch.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from triptych.audio.models.encoder_entries import class_of, read_entry

if TYPE_CHECKING:
    from torch import nn

LONGEST_TOKENS = 32
"""Of a caption; what is longer is cut."""
SHARED = ("label", "class", "source")
"""Keys that an entry of any class may have."""


@dataclass(frozen=True)
class SentenceSettings(ABC):
    """Settings of a sentence encoder, and what the study asks of them.

    pieces, padding: how captions become tokens (`text_files.py`), and the token that fills them up.
    """

    hidden: int  # dimensions of an embedding
    vocabulary: int

    pieces: ClassVar[str] = "words"
    padding: ClassVar[int] = 0

    @staticmethod
    @abstractmethod
    def network(config: Mapping[str, Any], dropout: float) -> "nn.Module":
        """Token ids and mask, both [N, tokens], to embeddings [N, hidden_size]. config:
        `config.json`.
        """

    @property
    def parameters(self) -> int:
        """About how many numbers its network has, which orders encoders of a kind."""
        layers: int = getattr(self, "layers", 0)
        return self.hidden * (self.vocabulary + 12 * self.hidden * layers)

    def config(self) -> dict[str, Any]:
        """The folder's `config.json`."""
        return {
            "model_type": class_of(SENTENCE_ENCODERS, self),
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "pad_token_id": self.padding,
        }


@dataclass(frozen=True)
class BertSettings(SentenceSettings):
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
        """BERT or RoBERTa, by the config's `model_type`."""
        from triptych.audio.models.sentence_networks import Encoder

        return Encoder(config, dropout)

    def config(self) -> dict[str, Any]:
        """The folder's `config.json`, as transformers has it too."""
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


@dataclass(frozen=True)
class RobertaSettings(BertSettings):
    """RoBERTa's sizes; it counts positions from beyond its padding."""

    positions: int = 2 * LONGEST_TOKENS + 2

    types = 1
    epsilon = 1e-5
    pieces = "bytes"
    padding = 1


PUBLISHED_TEXT: dict[str, SentenceSettings] = {
    "bert_base": BertSettings(768, 30_522, 12, 12, 512),
    "bert_large": BertSettings(1024, 30_522, 24, 16, 512),
    "roberta_base": RobertaSettings(768, 50_265, 12, 12, 514),
    "roberta_large": RobertaSettings(1024, 50_265, 24, 16, 514),
}
"""Of the models on the hub."""

SENTENCE_ENCODERS: dict[str, type[SentenceSettings]] = {
    "bert": BertSettings,
    "roberta": RobertaSettings,
}
"""By `class` in the config."""
ON_THE_HUB = ("bert", "roberta")


def sentence_encoder(name: str, entry: Mapping[str, Any]) -> SentenceSettings:
    """The encoder of an entry of the config's `text_models`; name: its key.

    One of the hub brings its own sizes: it counts as the published one of that name, or else as
    one of the usual sizes. Raises ValueError, made to stand behind the entry's key.
    """
    if entry["source"] == "scratch":
        return read_entry(SENTENCE_ENCODERS, entry, SHARED)
    if entry["class"] not in ON_THE_HUB:
        raise ValueError(f".class is {entry['class']!r}; of the hub can be {', '.join(ON_THE_HUB)}")
    usual = f"{entry['class']}_{'large' if 'large' in name else 'base'}"
    return PUBLISHED_TEXT.get(name, PUBLISHED_TEXT[usual])

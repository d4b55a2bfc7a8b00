"""The small model's text side: how much a text resembles each known phrase, by a frozen MiniLM.

It comes with a finished model only (makers/); its sizes stand in that model's `model.json`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triptych.audio.models.sentence_encoders import SentenceSettings

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Settings(SentenceSettings):
    """Refused: there is nothing to choose."""

    def __post_init__(self) -> None:
        raise ValueError("class phrases comes with the shipped model only")

    @staticmethod
    def network(config: Mapping[str, Any], dropout: float) -> "nn.Module":
        from triptych.audio.models.minilm import Phrases

        return Phrases(config)

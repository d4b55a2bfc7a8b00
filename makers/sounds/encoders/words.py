"""The text side with which the small model learns: a weighed mean of words' vectors.

The shipped model has another (`makers/sounds/phrases.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from triptych.audio.models.sentence_encoders import SentenceSettings


@dataclass(frozen=True)
class Settings(SentenceSettings):
    """A weighed mean of words' vectors."""

    special: ClassVar[int] = 5  # BERT's, before the words

    @staticmethod
    def network(config: Mapping[str, Any], dropout: float) -> nn.Module:
        """The mean, and two layers."""
        size = config["vocab_size"], config["hidden_size"]
        return WeighedWords(*size, Settings.special, dropout)


class WeighedWords(nn.Module):
    """A vector and a weight for each word; the mean, and what two linear layers add to it.

    It learns from few captions what a transformer needs many for, and knows a word in any company.
    """

    def __init__(self, words: int, width: int, special: int, dropout: float) -> None:
        """special: the first tokens, which stand for no word."""
        super().__init__()
        self.special = special
        self.words = nn.Embedding(words, width)
        self.weights = nn.Embedding(words, 1)
        nn.init.normal_(self.words.weight, std=0.1)  # small, so that it is soon forgotten
        nn.init.zeros_(self.weights.weight)
        self.dropout = nn.Dropout(dropout)
        self.inner = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * width, width)
        )

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids, mask: [captions, tokens], where the mask is 0 for padding. [captions, width].

        A caption without words is the mean of nothing: zeros, before the layers.
        """
        counted = ((ids >= self.special) & (mask > 0)).to(self.words.weight.dtype)
        weights = self.weights(ids)[:, :, 0].exp() * counted
        mean = (self.dropout(self.words(ids)) * weights[:, :, None]).sum(1)
        mean = mean / weights.sum(1, keepdim=True).clamp(min=1e-6)
        return mean + self.inner(mean)

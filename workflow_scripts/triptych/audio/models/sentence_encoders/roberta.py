"""RoBERTa (Liu et al. 2019), of the transformers library."""

from dataclasses import dataclass

from triptych.audio.models.sentence_encoders import LONGEST_TOKENS, bert


@dataclass(frozen=True)
class Settings(bert.Settings):
    """RoBERTa's sizes; it counts positions from beyond its padding."""

    positions: int = 2 * LONGEST_TOKENS + 2

    types = 1
    epsilon = 1e-5
    pieces = "bytes"
    padding = 1

"""The settings of the caption stage (audio.captions of the config) and its prompts.

Planning reads this module, so it imports neither pandas nor openai.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LIMITS = ("max_completion_tokens", "max_tokens")
"""Parameters of a request that limit its answer."""
KEY_VARIABLE = "OPENAI_API_KEY"

# Byte for byte what the authors' code sends (report, Section 2.4.4); Table 1 differs a little.
_WITH_KEYWORDS = (
    "I will give a description of an audio recording and tags associated with the audio recording. "
    "Generate {count} audio captions describing the sound events. "
    "Each audio caption should be one sentence with less than 20 words. "
    "Use grammatical subject-verb-object sentences. "
    "Do not include names of cities, countries, and persons. "
    "Do not include the time. "
    "Do not include recording device names. "
    "Do not write introductions or explanations. "
    "Do not use “heard”, “recorded”. "
    "Start each output sentence with its index. "
)

# In the authors' code too, which never used it: every clip of Clotho has keywords.
_WITHOUT_KEYWORDS = (
    "Rephrase the following audio description {count} times. "
    "Vary the sentence length, but do not use more than 20 words. "
    "Try not to use the same words. "
)

_REPAIR = (
    " Answer with exactly {count} numbered lines and nothing else. Each line must be a new "
    "sentence of 4 to {longest} words that does not say that something is heard, audible or "
    "recorded."
)


def instruction(keywords: Sequence[str], count: int) -> str:
    """The fixed part of the prompt, before caption and keywords."""
    return (_WITH_KEYWORDS if keywords else _WITHOUT_KEYWORDS).format(count=count)


def caption_prompt(caption: str, keywords: Sequence[str], count: int) -> str:
    """The message that asks for `count` new captions; keywords may be empty."""
    tags = f" [{', '.join(keywords)}]" if keywords else ""
    return f"{instruction(keywords, count)}'{caption}'{tags}"


def repair_prompt(caption: str, keywords: Sequence[str], count: int, longest_words: int) -> str:
    """`caption_prompt` with the rules spelt out, after an answer that broke them."""
    return caption_prompt(caption, keywords, count) + _REPAIR.format(
        count=count, longest=longest_words
    )


@dataclass(frozen=True)
class Prices:
    """Money for a million tokens."""

    input: float
    output: float
    currency: str

    def price(self, input_tokens: float, output_tokens: float) -> float:
        """The price of so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class CaptionSettings:
    """audio.captions of the config, key by key.

    parameters: of a request; base_url: None is OpenAI's own; budget: None for no limit.
    """

    backend: str
    model: str
    variations: int
    longest_words: int
    least_yield: float
    cache: str
    prices: Prices
    budget: float | None
    base_url: str | None
    parameters: Mapping[str, Any]
    open_requests: int
    timeout_seconds: float
    attempts: int

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "CaptionSettings":
        """The settings in the config's table."""
        return cls(**{**table, "prices": Prices(**table["prices"])})


def check_captions(table: Mapping[str, Any], source: str) -> None:
    """Raise ValueError if audio.captions does not fit audio.sources.clotho.source."""
    # Snakemake keeps a rule's parameters in its metadata, and results' provenance does too.
    if table["base_url"] is not None and not re.fullmatch(r"https?://[^@?#]+", table["base_url"]):
        raise ValueError(
            "audio.captions.base_url is not plain http:// or https:// without user, password, ? "
            f"or #, which would reach files. A key belongs in the environment, as {KEY_VARIABLE}"
        )
    if table["backend"] == "template" and source != "synthesised":
        raise ValueError(
            "audio.captions.backend is template, which is for synthesised scenes alone, and "
            f"audio.sources.clotho.source is {source}; choose authors or openai"
        )

"""The prompts for new captions, and checks of audio.captions in the config.

Planning reads this module, so it imports neither pandas nor openai.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

KEY_VARIABLE = "OPENAI_API_KEY"
WITHOUT_ANSWER = "no answer: "
"""Begins the finish reason of a prompt that gets no text, though others do."""

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


def instruction(keywords: Sequence[str], count: int) -> str:
    """The fixed part of the prompt, before caption and keywords."""
    return (_WITH_KEYWORDS if keywords else _WITHOUT_KEYWORDS).format(count=count)


def caption_prompt(caption: str, keywords: Sequence[str], count: int) -> str:
    """The message that asks for `count` new captions; keywords may be empty."""
    tags = f" [{', '.join(keywords)}]" if keywords else ""
    return f"{instruction(keywords, count)}'{caption}'{tags}"


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

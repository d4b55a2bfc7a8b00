"""What the language model is asked: one message a caption (report, Section 2.4.4 and Table 1)."""

from collections.abc import Sequence

# Byte for byte what the authors' code sends. Their report's Table 1 prints the same text but for
# `describing the sound event` (no s) and `Do not use "heard" or "recorded"` (straight quotes, or).
# The published captions were made by the code, hence its wording.
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

# The authors' code has this one too, without the last space, and never used it: every clip of
# Clotho has keywords.
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
    """The fixed part of the prompt, which stands before caption and keywords."""
    return (_WITH_KEYWORDS if keywords else _WITHOUT_KEYWORDS).format(count=count)


def caption_prompt(caption: str, keywords: Sequence[str], count: int) -> str:
    """The message that asks for `count` new captions; keywords may be empty."""
    tags = f" [{', '.join(keywords)}]" if keywords else ""
    return f"{instruction(keywords, count)}'{caption}'{tags}"


def repair_prompt(caption: str, keywords: Sequence[str], count: int, longest_words: int) -> str:
    """The message after an answer that broke the rules: the same, with the rules spelled out.

    It does not quote the bad answer, so that its cache key is a function of the caption alone.
    """
    return caption_prompt(caption, keywords, count) + _REPAIR.format(
        count=count, longest=longest_words
    )


def fixed_texts() -> tuple[str, ...]:
    """What every prompt says, whatever the caption: no answer may repeat it."""
    return (_WITH_KEYWORDS, _WITHOUT_KEYWORDS, _REPAIR)

"""What the caption stage is told, and what it tells of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from triptych.audio.captions.cost import Prices, with_thinking
from triptych.audio.captions.credentials import check_address

BACKENDS = ("openai", "authors", "template")


def check_captions(table: Mapping[str, Any], source: str) -> None:
    """Raise ValueError, naming the key, for audio.captions that no job should be started with.

    source: where Clotho comes from (audio.sources.clotho.source).
    """
    check_address(table["base_url"])
    if table["backend"] == "template" and source != "synthesised":
        raise ValueError(
            "audio.captions.backend is template, which is for synthesised scenes alone, and "
            f"audio.sources.clotho.source is {source}; choose authors or openai"
        )


@dataclass(frozen=True)
class CaptionSettings:
    """audio.captions of the config, key by key."""

    backend: str
    model: str
    variations: int
    longest_words: int
    least_yield: float
    cache: str
    prices: Prices
    budget: float | None
    thinking_tokens: int
    service: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "CaptionSettings":
        """Read the config's table; raises ValueError for a back end that is none."""
        values = dict(table)
        own = {
            name: values.pop(name)
            for name in (
                "backend", "variations", "longest_words", "least_yield", "cache", "budget",
                "thinking_tokens",
            )
        }  # fmt: skip
        if own["backend"] not in BACKENDS:
            raise ValueError(
                f"audio.captions.backend is {own['backend']!r}; allowed are {', '.join(BACKENDS)}"
            )
        values["parameters"] = with_thinking(values["parameters"], own["thinking_tokens"])
        prices = Prices(**values.pop("prices"))
        return cls(**own, model=values["model"], prices=prices, service=values)


@dataclass
class Usage:
    """Counts behind usage.csv: tokens and cost are of all answers used, whenever paid for."""

    backend: str
    model: str
    requests: int = 0
    cached: int = 0
    repaired: int = 0
    rejected: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    currency: str = ""
    captions: int = 0

"""What the rules of the study ask."""

from collections.abc import Mapping
from typing import Any

NEUTRAL_KEYS = ()
"""Patterns of the keys whose values change no number."""
EQUIVALENT_VALUES: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `needle` of a config as rules use it."""

    downloads: Mapping[str, Any] = {}
    """Entries of resources/sources.yaml that a run downloads."""

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["needle"]

    @property
    def claims(self) -> dict[str, list[str]]:
        """The file by which the claim is decided."""
        return {"throws": ["results/needle/throws.csv"]}

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the page."""
        return {"Throws": f"{self.config['throws']:,}", "Seeds": str(len(self.config["seeds"]))}

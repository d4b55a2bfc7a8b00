"""What the rules of the study ask."""

from collections.abc import Mapping
from typing import Any

from triptych.report.files import products

NEUTRAL_KEYS = ()
"""Patterns of the keys whose values change no number."""
EQUIVALENT_VALUES: dict[str, tuple[str, ...]] = {}
"""Values of a key that make the same numbers."""


class Workflow:
    """The section `needle` of a config as rules use it."""

    figures = ("needle_figure1",)
    TABLES = ("needle_table1",)
    downloads: Mapping[str, Any] = {}
    """Entries of resources/sources.yaml that a run downloads."""

    def __init__(self, config: Mapping[str, Any], sources: Mapping[str, Any]) -> None:
        self.config = config["needle"]
        self.products = products(self.figures, self.TABLES)

    @property
    def claims(self) -> dict[str, list[str]]:
        """The file by which the claim is decided."""
        return {"throws": ["results/needle/throws.csv"]}

    @property
    def page(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What its part of the page shows beside its figures."""
        return {"table1": ["results/tables/needle_table1.csv"]}, {}

    def facts(self) -> dict[str, str]:
        """What was run, for the head of the page."""
        return {"Throws": f"{self.config['throws']:,}", "Seeds": str(len(self.config["seeds"]))}

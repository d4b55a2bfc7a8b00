"""What the jobs of the study cost."""

from collections.abc import Mapping
from typing import Any

from triptych.core.cost import Cost

THROWS_A_SECOND = 10e6


def job_cost(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job."""
    throws = config["throws"] * len(config["seeds"])
    throwing = Cost(cpu_seconds=throws / THROWS_A_SECOND, memory=8 * throws)
    return throwing if rule == "needle_throw" else Cost()


def rows(config: Mapping[str, Any]) -> dict[str, str]:
    """A file of the workflow for every row of the experiment."""
    return {f"seed {seed}": "results/needle/throws.csv" for seed in config["seeds"]}


def notes(config: Mapping[str, Any]) -> list[str]:
    """It asks for no money."""
    return []

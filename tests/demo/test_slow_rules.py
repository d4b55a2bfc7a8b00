"""Every rule that was slow in the demo is killed by the fault tests, and planned."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "results" / "benchmarks"

SLOW, NOISE, MINUTE = 5.0, 1.5, 60.0
"""Seconds that make a rule slow, what a noisy minute may add, and from when on a rule needs a cost.
The list has some more rules."""
QUICKEST = 1.3
"""Seconds of the quickest rule, which hardly does more than import; a slower machine has more."""

pytestmark = pytest.mark.skipif(
    not (ROOT / "results" / "report.html").exists(),
    reason="there is no results/report.html: make demo",
)


def demo_seconds():
    """Seconds of each rule's longest job."""
    return {
        # Of both clocks the lower one: other work on the machine lengthens the first alone.
        folder.name: max(
            pd.read_csv(file, sep="\t", na_values="-")[["s", "cpu_time"]].min(axis=None)
            for file in folder.glob("*.tsv")
        )
        for folder in BENCHMARKS.iterdir()
    }


def test_every_slow_rule_is_killed_by_the_fault_tests():
    killed = runpy.run_path(str(ROOT / "tests" / "faults" / "slow_rules.py"))["SLOW_RULES"]
    seconds = demo_seconds()
    assert len(seconds) > 40
    limit = SLOW * NOISE * max(1, min(seconds.values()) / QUICKEST)
    assert {rule for rule, took in seconds.items() if took > limit} <= killed.keys()

"""What recomputes tables, claims and pages from the raw rows of finished runs: no function of ours.

The runs are all of docs/results, and the demo once it has run.
"""

import math
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from scipy import optimize, stats

ROOT = Path(__file__).resolve().parents[2]
RUNS = [ROOT / "results", *sorted((ROOT / "docs/results").iterdir())]


def each_table(*names, raw):
    """Parametrise a test by these tables of every run that has them and its raw rows."""
    return pytest.mark.parametrize(
        "table",
        [
            pytest.param(file, id=f"{run.name}/{name}")
            for run in RUNS
            for name in names
            if (file := run / f"{name}.csv").exists() and any(run.glob(raw))
        ],
    )


@cache
def rows(run, pattern):
    """The rows of every CSV of a run that a pattern names."""
    return pd.concat([pd.read_csv(path) for path in sorted(run.glob(pattern))], ignore_index=True)


def check(row, expected, **tolerance):
    """Compare columns of a row with the numbers expected there; returns how many."""
    for name, value in expected.items():
        wanted = pytest.approx(value, nan_ok=True, **{"rel": 1e-7, "abs": 1e-9} | tolerance)
        assert row[name] == wanted, (name, dict(row))
    return len(expected)


def ends(values):
    """Student's interval of a mean."""
    if len(values) < 2:
        return math.nan, math.nan
    found = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    return found.low, found.high


def ratio_ends(above, below):
    """The two ratios at which the t test of above - ratio * below is on the edge of 5%."""

    def beyond(ratio):
        rest = above - ratio * below
        reach = stats.t.ppf(0.975, len(rest) - 1) * rest.std(ddof=1) / math.sqrt(len(rest))
        return abs(rest.mean()) - reach

    found = []
    for way in (-1, 1):
        at, step = above.mean() / below.mean(), 1e-3
        while beyond(at + way * step) < 0:
            at, step = at + way * step, 1.3 * step
            if abs(at) > 1e6:
                return -math.inf, math.inf
        found.append(optimize.brentq(beyond, at, at + way * step, xtol=1e-13))
    return tuple(found)


NUMBER = re.compile(r"(?<![\w.\u00d7-])[+-]?\d[\d,]*\.?\d*(?:e[+-]\d+)?")


def same_numbers(text, values):
    """Compare all numbers of a text, in order, with values, each to the digits that it has."""
    printed = [Decimal(number.rstrip(",.").replace(",", "")) for number in NUMBER.findall(text)]
    values = [value for value in values if math.isfinite(value)]  # "no bounds" has no number
    assert len(printed) == len(values), (text, values)
    for number, value in zip(printed, values, strict=True):
        half = 0.5 * 10.0 ** number.as_tuple().exponent
        assert abs(float(number) - value) <= half * (1 + 1e-6), (text, number, value)
    return len(printed)

"""Offline RL's tables, recomputed from the raw CSVs of a finished demo by scipy alone."""

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

RESULTS = Path(__file__).resolve().parents[2] / "results"
pytestmark = pytest.mark.skipif(
    not (RESULTS / "tables/rl_scores.csv").exists(), reason="make demo has not run"
)
TASKS = ("hopper", "walker2d", "halfcheetah")


def rows(pattern):
    """The rows of every CSV that a pattern names."""
    for path in sorted(RESULTS.glob(pattern)):
        with path.open(encoding="utf-8") as file:
            yield from csv.DictReader(file)


def number(text):
    return float(text) if text else math.nan


def cell_of(row, method=None, percent=None):
    return (
        *(row["task"], row.get("algorithm", "")),
        *(method or row["method"], float(row["sparsity_percent"] if percent is None else percent)),
    )


@pytest.fixture(scope="module")
def scores():
    """By cell, the score of each seed: the mean of its last evaluation; observations normalised."""
    episodes, last = defaultdict(lambda: defaultdict(list)), {}
    chosen = [
        row
        for row in rows("rl/*/*/*/scores.csv")
        if row["observations"] == "normalised" and row["pruning"] == "default"
    ]
    for row in chosen:
        key = (*cell_of(row), row["seed"])
        last[key] = max(last.get(key, 0), int(row["update"]))
    for row in chosen:
        if int(row["update"]) == last[(*cell_of(row), row["seed"])]:
            episodes[cell_of(row)][row["seed"]].append(float(row["score_normalised"]))
    return {
        cell: {seed: np.mean(each) for seed, each in seeds.items()}
        for cell, seeds in episodes.items()
    }


def paired(scores, one, other):
    seeds = sorted(scores[one].keys() & scores[other].keys())
    return (np.array([scores[cell][seed] for seed in seeds]) for cell in (one, other))


def ends(values):
    """Student's interval of a mean."""
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


@pytest.mark.parametrize("table", ["rl_scores", "rl_figure1", "rl_figure2"])
def test_scores_and_ratios_to_dense(scores, table):
    compared = 0
    for row in rows(f"tables/{table}.csv"):
        if row["task"] not in TASKS:
            continue
        own = np.array(list(scores[cell_of(row)].values()))
        expected = {"value": own.mean(), "minimum": own.min(), "maximum": own.max()}
        expected |= dict(zip(("low", "high"), ends(own), strict=True))
        above, below = paired(scores, cell_of(row), cell_of(row, "dense", 0))
        learnt = below.mean() > 0  # a ratio to less than nothing says nothing
        expected["ratio_to_dense"] = above.mean() / below.mean() if learnt else math.nan
        if learnt and row["method"] != "dense":
            found = ratio_ends(above, below)
            expected |= dict(zip(("ratio_low", "ratio_high"), found, strict=True))
        for name, value in expected.items():
            wanted = pytest.approx(value, rel=1e-7, abs=1e-9, nan_ok=True)
            assert number(row[name]) == wanted, (name, row)
        compared += 1
    assert compared > 10

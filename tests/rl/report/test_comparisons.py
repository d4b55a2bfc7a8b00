"""Comparisons of methods, against SciPy's tests of pairs and of ranks."""

import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy.stats import mannwhitneyu, ttest_rel

from triptych.rl.report.scores import run_scores, with_data
from triptych.rl.report.tables import (
    ALL_TASKS,
    comparisons_long,
    comparisons_table,
    improvement,
    variants_long,
    variants_table,
)
from triptych.rl.tasks.task import ACTION_ERROR

KEY = ("task", "algorithm", "method", "sparsity_percent")


@pytest.fixture(scope="module")
def runs():
    return run_scores(synthetic.scores(), 2)


def test_the_probability_of_improvement_is_mann_and_whitneys_share_of_pairs():
    random = np.random.default_rng(0)
    first = [random.integers(0, 9, 7).astype(float) for _ in range(3)]
    second = [random.integers(0, 9, 5).astype(float) for _ in range(3)]
    shares = [mannwhitneyu(x, y).statistic / (7 * 5) for x, y in zip(first, second, strict=True)]
    found = improvement(first, second)
    assert found.estimate == pytest.approx(np.mean(shares))
    assert found.low <= found.estimate <= found.high


def test_every_two_methods_have_a_difference_with_scipys_interval(runs):
    long = comparisons_long(runs, scale="test", units={})
    pairs = long[["first", "second"]].drop_duplicates()
    assert len(pairs) == 15  # of six methods
    key = {"algorithm": "BC", "first": "snip", "second": "shuffled", "task": "hopper"}
    cell = long[(long[list(key)] == pd.Series(key)).all(axis=1)].iloc[0]
    of = runs[(runs["algorithm"] == "BC") & (runs["task"] == "hopper")]
    x, y = (
        of[(of["method"] == name) & (of["sparsity_percent"] == 95)].sort_values("seed")["score"]
        for name in ("snip", "shuffled")
    )
    expected = ttest_rel(x, y).confidence_interval(0.95)
    assert (cell["low"], cell["high"]) == pytest.approx((expected.low, expected.high))


def test_of_an_action_error_less_counts_as_better(runs):
    """The probability turns round where every task's scores are errors; differences stay."""
    scores, errors = (
        comparisons_long(runs, scale="test", units=dict.fromkeys(synthetic.EXPERTS, unit))
        for unit in ("return", ACTION_ERROR)
    )
    every = scores["task"] == ALL_TASKS
    assert (errors.loc[~every, "value"] == scores.loc[~every, "value"]).all()
    np.testing.assert_allclose(errors.loc[every, "value"], 1 - scores.loc[every, "value"])
    assert (scores.loc[every, "value"] != 0.5).any()
    table = comparisons_table(errors)
    assert "less is better" in table.caption
    assert all("action error" in header for _, header in table.columns[2:-1])


def test_a_quality_of_d4rls_is_named_above_its_column(runs):
    long = comparisons_long(runs, scale="test", units={})
    data = {"hopper": "d4rl medium", "walker2d": "d4rl", "halfcheetah": "collected"}
    headers = [header for _, header in comparisons_table(with_data(long, data)).columns[2:-1]]
    assert headers == ["Hopper, d4rl medium", "Walker2d", "HalfCheetah"]


def test_a_variant_stands_beside_the_default_with_scipys_interval():
    of = run_scores(synthetic.with_a_variant(), 2)
    long = variants_long(of, scale="test", units={})
    assert set(long["pruning"]) == {"iterated"} and set(long["method"]) == {"snip", "grasp"}
    assert np.allclose(long["gap"], 0.5) and np.allclose(long["value"], long["default"] + 0.5)
    shifted = of.copy()
    own = shifted["pruning"] == "iterated"
    shifted.loc[own, "score"] += np.random.default_rng(0).normal(0, 3, own.sum())
    cell = variants_long(shifted, scale="test", units={}).iloc[0]
    same = (shifted[list(KEY)] == cell[list(KEY)]).all(axis=1)
    x, y = (
        shifted[same & (shifted["pruning"] == name)].sort_values("seed")["score"]
        for name in ("iterated", "default")
    )
    expected = ttest_rel(x, y).confidence_interval(0.95)
    assert (cell["low"], cell["high"]) == pytest.approx((expected.low, expected.high))
    table = variants_table(long, {"iterated": {"iterations": 10, "grasp_batch": 7}})
    assert {row[1:3] for row in table.rows} == {
        ("SNIP", "10 iterations"),
        ("GraSP", "7 transitions, 10 iterations"),
    }

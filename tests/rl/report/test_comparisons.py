"""Comparisons of methods, against SciPy's tests of pairs and of ranks."""

import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy.stats import mannwhitneyu, ttest_rel

from triptych.rl.report.scores import run_scores
from triptych.rl.report.tables import (
    comparisons_long,
    improvement,
    variants_long,
    variants_table,
)

KEY = ("task", "algorithm", "method", "sparsity_percent")


@pytest.fixture(scope="module")
def runs():
    return run_scores(synthetic.scores())


def test_the_probability_of_improvement_is_mann_and_whitneys_share_of_pairs():
    random = np.random.default_rng(0)
    first = [random.integers(0, 9, 7).astype(float) for _ in range(3)]
    second = [random.integers(0, 9, 5).astype(float) for _ in range(3)]
    shares = [mannwhitneyu(x, y).statistic / (7 * 5) for x, y in zip(first, second, strict=True)]
    found = improvement(first, second)
    assert found.estimate == pytest.approx(np.mean(shares))
    assert found.low <= found.estimate <= found.high


def test_every_two_methods_have_a_difference_with_scipys_interval(runs):
    long = comparisons_long(runs)
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


def test_a_variant_stands_beside_the_default_with_scipys_interval():
    of = run_scores(synthetic.with_a_variant())
    long = synthetic.cells(variants_long(of))
    assert set(long["pruning"]) == {"iterated"} and set(long["method"]) == {"snip", "grasp"}
    assert np.allclose(long["gap"], 0.5) and np.allclose(long["value"], long["default"] + 0.5)
    shifted = of.copy()
    own = shifted["pruning"] == "iterated"
    shifted.loc[own, "score"] += np.random.default_rng(0).normal(0, 3, own.sum())
    cell = variants_long(shifted).iloc[0]
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

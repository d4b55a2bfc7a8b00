"""Comparisons of methods, against SciPy's tests of pairs and of ranks."""

import numpy as np
import pytest
import synthetic
from scipy.stats import mannwhitneyu, ttest_rel

from rl import variants
from triptych.rl.report.scores import run_scores
from triptych.rl.report.tables import comparisons_long, improvement


def scipys_interval(runs, column, one, other):
    """Of the paired difference between the runs of two values of a column."""
    wide = runs.pivot(index="seed", columns=column, values="score")
    interval = ttest_rel(wide[one], wide[other]).confidence_interval(0.95)
    return interval.low, interval.high


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
    assert len(long[["first", "second"]].drop_duplicates()) == 15  # of six methods
    same = "algorithm == 'BC' and task == 'hopper' and sparsity_percent == 95"
    cell = long.query(f"{same} and first == 'snip' and second == 'shuffled'").iloc[0]
    expected = scipys_interval(runs.query(same), "method", "snip", "shuffled")
    assert (cell["low"], cell["high"]) == pytest.approx(expected)


def test_a_variant_stands_beside_the_default_with_scipys_interval():
    of = run_scores(synthetic.with_a_variant())
    long = synthetic.cells(variants.numbers(of))
    assert set(long["pruning"]) == {"iterated"} and set(long["method"]) == {"snip", "grasp"}
    assert np.allclose(long["gap"], 0.5) and np.allclose(long["value"], long["default"] + 0.5)
    shifted = of.copy()
    own = shifted["pruning"] == "iterated"
    shifted.loc[own, "score"] += np.random.default_rng(0).normal(0, 3, own.sum())
    same = "algorithm == 'BC' and task == 'hopper' and method == 'snip' and sparsity_percent == 95"
    cell = variants.numbers(shifted).query(same).iloc[0]
    expected = scipys_interval(shifted.query(same), "pruning", "iterated", "default")
    assert (cell["low"], cell["high"]) == pytest.approx(expected)
    table = variants.table(long, {"iterated": {"iterations": 10, "grasp_batch": 7}}, "", "")
    assert {row[1:3] for row in table.rows} == {
        ("SNIP", "10 iterations"),
        ("GraSP", "7 transitions, 10 iterations"),
    }

"""Bootstrap intervals and the interquartile mean, against scipy and closed forms."""

import numpy as np
import pytest
import scipy.stats

from triptych.core.statistics import (
    bootstrap,
    bootstrap_difference,
    bootstrap_ratio,
    interquartile_mean,
    stratified_bootstrap,
)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 15, 30])
def test_interquartile_mean_is_scipys_trimmed_mean(size):
    values = np.random.default_rng(size).exponential(size=size)
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25))


def test_interquartile_mean_reduces_the_last_axis():
    values = np.random.default_rng(0).normal(size=(6, 12))
    expected = scipy.stats.trim_mean(values, 0.25, axis=1)
    np.testing.assert_allclose(interquartile_mean(values), expected)


def test_interval_of_the_mean_is_scipys_percentile_bootstrap():
    values = np.random.default_rng(1).gamma(2, 3, size=12)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=np.random.default_rng(2)
    ).confidence_interval
    ours = bootstrap(values, resamples=40_000)
    assert ours.estimate == pytest.approx(values.mean())
    # Two independent bootstraps differ by Monte Carlo error alone.
    assert ours.low == pytest.approx(theirs.low, abs=0.06)
    assert ours.high == pytest.approx(theirs.high, abs=0.06)


def test_paired_ratio_is_scipys_paired_percentile_bootstrap():
    generator = np.random.default_rng(3)
    dense = generator.normal(100, 8, size=10)
    pruned = 0.9 * dense + generator.normal(0, 3, size=10)

    def ratio(above, below, axis):
        return above.mean(axis=axis) / below.mean(axis=axis)

    theirs = scipy.stats.bootstrap(
        (pruned, dense),
        ratio,
        paired=True,
        method="percentile",
        n_resamples=40_000,
        rng=np.random.default_rng(4),
    ).confidence_interval
    ours = bootstrap_ratio(pruned, dense, resamples=40_000)
    assert ours.low == pytest.approx(theirs.low, abs=0.002)
    assert ours.high == pytest.approx(theirs.high, abs=0.002)


def test_paired_ratio_of_proportional_scores_has_no_width():
    dense = np.array([80.0, 95.0, 110.0])
    interval = bootstrap_ratio(0.7 * dense, dense)
    assert (interval.estimate, interval.low, interval.high) == pytest.approx((0.7, 0.7, 0.7))


def test_paired_difference_ignores_what_the_pairs_share():
    seeds = np.array([0.0, 50.0, 100.0, 400.0])
    interval = bootstrap_difference(seeds + np.array([1.0, 2.0, 3.0, 4.0]), seeds)
    assert interval.estimate == pytest.approx(2.5)
    assert interval.low >= 1 and interval.high <= 4


def test_two_runs_give_their_range_at_a_high_level():
    # Of the four resamples of two runs one holds only the smaller, one only the larger.
    interval = bootstrap([10.0, 20.0])
    assert (interval.low, interval.high) == (10.0, 20.0)


def test_one_run_has_an_estimate_and_no_interval():
    interval = bootstrap([7.0])
    assert interval.estimate == 7.0
    assert np.isnan(interval.low) and np.isnan(interval.high)
    assert "one run" in interval.text()


def test_strata_are_resampled_within_themselves():
    # Each task's runs agree, so that no resample within tasks can vary; one across tasks would.
    interval = stratified_bootstrap([[10.0] * 4, [50.0] * 4, [90.0] * 4])
    assert (interval.low, interval.high) == (50.0, 50.0)


def test_stratified_interval_of_one_stratum_is_that_of_its_mean():
    values = np.random.default_rng(5).normal(size=16)
    within = stratified_bootstrap([values], lambda a: a.mean(axis=-1), resamples=40_000)
    alone = bootstrap(values, resamples=40_000, seed=9)
    assert within.low == pytest.approx(alone.low, abs=0.03)
    assert within.high == pytest.approx(alone.high, abs=0.03)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(6)
    hits = 0
    for trial in range(300):
        interval = bootstrap(generator.normal(5, 2, size=40), resamples=500, seed=trial)
        hits += interval.low <= 5 <= interval.high
    assert 0.90 <= hits / 300 <= 0.98


def test_the_same_seed_gives_the_same_interval_and_another_does_not():
    values = np.random.default_rng(8).normal(size=9)
    assert bootstrap(values, seed=1) == bootstrap(values, seed=1)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)


def test_resamples_with_a_lost_denominator_widen_the_interval():
    interval = bootstrap_ratio([50.0, 50.0], [100.0, -10.0])
    assert interval.high == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap([]), "at least one run"),
        (lambda: bootstrap([1.0, np.nan]), "not finite"),
        (lambda: bootstrap([1.0, 2.0], level=95), "between 0 and 1"),
        (lambda: bootstrap_ratio([1.0, 2.0], [1.0]), "got 2 and 1"),
        (lambda: bootstrap_ratio([1.0, 2.0], [-1.0, 1.0]), "positive mean"),
        (lambda: stratified_bootstrap([]), "at least one stratum"),
    ],
)
def test_what_has_no_interval_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()

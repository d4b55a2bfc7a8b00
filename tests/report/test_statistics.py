"""Intervals over few runs, against scipy's tests and by simulation."""

import numpy as np
import pytest
import scipy.stats

from triptych.report.statistics import (
    crossed_interval,
    difference_interval,
    mean_interval,
    ratio_interval,
    stratified_interval,
)
from triptych.report.tables import with_interval

SEEDS = 5
STATED, AT_LEAST = 0.95, 0.93
TRIALS = 4000


@pytest.mark.parametrize(
    ("strata", "middle"),
    [
        ([[7.0]], 7.0),
        ([[1.0, 2.0, 60.0]], 21.0),  # of three values none is left out
        ([[-50.0, 1.0, 3.0, 90.0, 5.0]], 3.0),
        ([[0.0, 10.0, 20.0, 1000.0], [11.0, 12.0, 13.0, -500.0]], 11.5),  # as one sample
    ],
)
def test_the_estimate_over_tasks_is_the_mean_of_the_middle_half_of_all_runs(strata, middle):
    assert stratified_interval(strata).estimate == pytest.approx(middle)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e6 / 3])
@pytest.mark.parametrize("runs", [2, 3, 7])
def test_runs_that_all_agree_are_said_to_be_equal(value, runs):
    equal = [value] * runs
    found = [mean_interval(equal), difference_interval(equal, [2 * value] * runs)]
    found += [ratio_interval([1 / 3] * runs, [0.1] * runs), stratified_interval([equal, equal])]
    assert {one.ends() for one in found} == {"[all equal]"}
    assert mean_interval([*equal, value + 1e-4 + abs(value) / 1e4]).ends(1) != "[all equal]"
    assert with_interval(value, value, value, 1).endswith(" [all equal]")


@pytest.mark.parametrize("size", [2, 5, 40])
def test_interval_of_a_mean_is_scipys_t_interval(size):
    values = np.random.default_rng(size).gamma(2, 3, size=size)
    theirs = scipy.stats.ttest_1samp(values, 0).confidence_interval(STATED)
    ours = mean_interval(values)
    assert ours.estimate == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("size", [3, 5, 10])
def test_the_ends_of_a_ratio_are_where_the_t_test_of_the_pairs_turns(size):
    generator = np.random.default_rng(size)
    dense = generator.normal(100, 8, size=size)
    pruned = 0.9 * dense + generator.normal(0, 3, size=size)
    ours = ratio_interval(pruned, dense)
    assert ours.low < ours.estimate == pytest.approx(pruned.mean() / dense.mean())
    for end in (ours.low, ours.high):
        found = scipy.stats.ttest_1samp(pruned - end * dense, 0)
        assert found.pvalue == pytest.approx(1 - STATED, abs=1e-9)


def test_a_denominator_that_may_be_zero_bounds_no_ratio():
    interval = ratio_interval([50.0, 50.0], [100.0, -10.0])
    assert (interval.low, interval.high) == (-np.inf, np.inf)
    assert interval.text() == "1.11 [no bounds]"


@pytest.mark.parametrize("interval", [mean_interval([7.0]), ratio_interval([7.0], [1.0])])
def test_one_run_has_an_estimate_and_no_interval(interval):
    assert interval.estimate == 7.0
    assert np.isnan(interval.low) and np.isnan(interval.high)
    assert interval.text(1) == "7.0 [one run: no interval]"


def test_the_interval_over_all_tasks_has_the_standard_error_of_a_trimmed_mean():
    """Against scipy's, which knows one task: Tukey and McLaughlin's winsorised variance."""
    values = np.random.default_rng(5).normal(size=60)
    ours = stratified_interval([values])
    error = scipy.stats.mstats.trimmed_stde(values, limits=(0.25, 0.25))
    assert ours.high - ours.estimate == pytest.approx(2.0 * error, rel=0.15)


def _coverage(intervals, truth):
    inside = [interval.low <= truth <= interval.high for interval in intervals]
    return float(np.mean(inside))


def test_a_ratio_of_five_paired_seeds_is_covered_as_often_as_the_interval_says():
    dense, other = np.random.default_rng(7).uniform(40, 100, (2, TRIALS, SEEDS))
    pruned = 0.5 * dense + 0.4 * other
    intervals = map(ratio_interval, pruned, dense)
    assert AT_LEAST <= _coverage(intervals, 0.9) <= 0.97


def _coverage_over_tasks(spreads):
    """Coverage of `stratified_interval` where three tasks' runs have these standard deviations."""
    generator = np.random.default_rng(10)

    def runs(size):
        levels = zip((20.0, 50.0, 90.0), spreads, strict=True)
        return [level + generator.normal(0, spread, size=size) for level, spread in levels]

    pooled = np.concatenate(runs((40_000, SEEDS)), axis=1)
    truth = scipy.stats.trim_mean(pooled, 0.25, axis=1).mean()
    intervals = (stratified_interval(runs(SEEDS), resamples=300) for _ in range(1500))
    return _coverage(intervals, truth)


@pytest.mark.parametrize("spreads", [(8, 8, 8), (1, 10, 0.5)])
def test_the_mean_over_all_tasks_is_covered_as_often_as_its_interval_says(spreads):
    assert AT_LEAST <= _coverage_over_tasks(spreads) <= 0.975


def test_the_mean_over_all_tasks_is_covered_in_91_of_100_where_only_an_outer_task_varies():
    """As docs/results.md says: Satterthwaite's degrees of freedom do not make up for it."""
    covered = [_coverage_over_tasks(spreads) for spreads in ((8, 0, 0), (0, 0, 8))]
    assert np.mean(covered) == pytest.approx(0.91, abs=0.01)


@pytest.mark.parametrize("spreads", [(0, 0, 1), (1, 3, 1), (1, 1, 0.1)])
def test_a_mean_over_crossed_pairs_is_covered_where_student_s_t_is_not(spreads):
    """Four pictures by three paintings: a t interval over the twelve holds it in 60 to 80%."""
    generator = np.random.default_rng(3)
    shapes = ((2000, 4, 1), (2000, 1, 3), (2000, 4, 3))
    values = sum(
        spread * generator.standard_normal(shape)
        for spread, shape in zip(spreads, shapes, strict=True)
    )
    assert _coverage(map(crossed_interval, values), 0.0) >= 0.93
    if any(spreads[:2]):
        assert _coverage((mean_interval(pairs.ravel()) for pairs in values), 0.0) < 0.85


def test_crossed_pairs_of_one_picture_have_the_interval_of_its_paintings():
    values = np.random.default_rng(4).standard_normal((1, 5))
    assert crossed_interval(values) == mean_interval(values[0])

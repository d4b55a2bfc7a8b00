"""Metrics against plain loops, scikit-learn, simulation and values worked out by hand."""

import statistics
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    average_precisions,
    chance_average_precision,
    chance_recall,
    hits,
    mean_average_precision,
    ranks,
)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(11)


def plain_order(row: np.ndarray) -> list[int]:
    return sorted(range(len(row)), key=lambda clip: (-row[clip], clip))


def test_ranks_are_those_of_a_sorted_list_also_among_equal_scores(random):
    scores = random.integers(0, 4, (200, 15)).astype(float)  # many ties
    true = random.integers(0, 15, 200)
    expected = [plain_order(row).index(c) + 1 for row, c in zip(scores, true, strict=True)]
    assert ranks(scores, true).tolist() == expected


def test_average_precision_of_one_relevant_clip_is_scikit_learns_label_ranking(random):
    scores = random.standard_normal((60, 10))
    true = random.integers(0, 10, 60)
    expected = label_ranking_average_precision_score(np.eye(10, dtype=int)[true], scores)
    assert mean_average_precision(scores, true) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cutoff", [10, 16])
def test_average_precision_of_several_relevant_clips_equals_a_plain_loop(random, cutoff):
    scores = random.integers(0, 30, (100, 40)).astype(float)
    relevant = random.random((100, 40)) < 0.1
    relevant[:, 3] = True
    for found, row, wanted in zip(
        average_precisions(scores, relevant, cutoff), scores, relevant, strict=True
    ):
        right, total = 0, 0.0
        for position, clip in enumerate(plain_order(row)[:cutoff], start=1):
            if wanted[clip]:
                right += 1
                total += right / position
        assert found == pytest.approx(total / wanted.sum(), abs=1e-12)


def test_a_model_without_opinion_gets_the_scores_of_chance():
    scores, true = np.zeros((20, 20)), np.arange(20)
    assert mean_average_precision(scores, true) == pytest.approx(chance_average_precision(20, 10))
    assert hits(ranks(scores, true), 5).mean() == chance_recall(20, 5)


@pytest.mark.parametrize(("clips", "relevant", "cutoff"), [(6, 1, 3), (6, 2, 4), (6, 4, 6)])
def test_chance_is_the_mean_over_all_orders(clips, relevant, cutoff):
    scores = np.array(list(permutations(range(clips))), dtype=float)
    wanted = np.broadcast_to(np.arange(clips) < relevant, scores.shape)
    expected = average_precisions(scores, wanted, cutoff).mean()
    assert chance_average_precision(clips, cutoff, relevant) == pytest.approx(expected, rel=1e-12)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        ranks([[0.0, np.nan]], [0])


def test_the_interval_holds_the_truth_about_as_often_as_it_says(random):
    held = 0
    for _ in range(200):
        level = random.standard_normal(60)  # each clip has its own, shared by its captions
        values = (level[:, None] + 0.5 * random.standard_normal((60, 5))).ravel()
        interval = ClusterResamples(np.repeat(np.arange(60), 5), resamples=500).interval(values)
        held += interval.low <= 0 <= interval.high
    assert 0.89 <= held / 200 <= 0.99


@pytest.mark.parametrize("means", [1, 20])
def test_simultaneous_intervals_are_as_wide_as_independent_means_need(random, means):
    """Of 20 independent means the normal's quantile is that of Sidak, 3.02 and not 1.96."""
    values = random.standard_normal((means, 1000))
    errors = values.std(axis=1, ddof=1) / np.sqrt(1000)
    reach = statistics.NormalDist().inv_cdf((1 + 0.95 ** (1 / means)) / 2)
    intervals = ClusterResamples(np.arange(1000)).simultaneous(values)
    for mean, error, interval in zip(values.mean(axis=1), errors, intervals, strict=True):
        assert interval.estimate == pytest.approx(mean)
        assert interval.high - interval.low == pytest.approx(2 * reach * error, rel=0.1)

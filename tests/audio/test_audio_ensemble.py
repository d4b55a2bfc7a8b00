"""Ensembles of similarity matrices, every subset of their members, and the search in keywords."""

import math
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest

from triptych.audio.scoring.ensemble import member_sets, precisions, selected_members, subset_rows
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import mean_average_precision
from triptych.audio.scoring.scores import keyword_scores

COLUMNS = np.repeat(np.arange(20), 5)


def noisy(noise: float, seed: int) -> np.ndarray:
    return np.eye(20)[COLUMNS] + noise * np.random.default_rng(seed).standard_normal((100, 20))


@pytest.fixture
def matrices() -> dict[str, np.ndarray]:
    return {"good": noisy(0.8, 0), "fair": noisy(0.9, 1), "poor": noisy(1.2, 2), "no": noisy(50, 3)}


def score(matrices: dict[str, np.ndarray], members: Sequence[str]) -> float:
    return mean_average_precision(sum(matrices[m] for m in members) / len(members), COLUMNS)


def test_selection_begins_with_the_best_and_each_step_is_the_best_single_addition(matrices):
    members = selected_members(matrices, COLUMNS)
    assert len(members) >= 2
    reached = [score(matrices, members[:size]) for size in range(1, len(members) + 1)]
    for size, value in enumerate(reached):
        others = [run for run in matrices if run not in members[:size]]
        best = max(score(matrices, [*members[:size], run]) for run in others)
        assert value == pytest.approx(best)
    assert reached == sorted(reached)
    others = [run for run in matrices if run not in members]
    assert all(score(matrices, [*members, run]) <= reached[-1] for run in others)


CLIPS, CAPTIONS = 20, 3


@pytest.fixture
def clip_matrices():
    random = np.random.default_rng(3)
    truth = np.repeat(np.eye(CLIPS), CAPTIONS, axis=0)
    noise = dict(zip("abcd", (0.5, 0.6, 0.9, 4.0), strict=True))
    return {
        name: truth + level * random.standard_normal(truth.shape) for name, level in noise.items()
    }


OF_CAPTIONS = np.repeat(np.arange(CLIPS), CAPTIONS)


def test_the_sets_are_every_subset_of_the_members_and_the_members_with_more():
    sets = member_sets(list("abc"), list("xy"))
    powerset = chain.from_iterable(combinations("abc", size) for size in (1, 2, 3))
    assert {frozenset(each) for each in sets} == {
        *map(frozenset, powerset),
        *map(frozenset, ("abcx", "abcy", "abcxy")),
    }
    assert sets[0] == ("a", "b", "c") and len(sets) == len(set(sets)) == 10
    assert len(member_sets([str(n) for n in range(8)], [])) == 255


def test_each_set_scores_what_a_plain_loop_over_its_mean_similarities_finds(clip_matrices):
    sets = member_sets(["a", "b"], ["c", "d"])
    found = precisions(sets, clip_matrices, OF_CAPTIONS)
    for members, row in zip(sets, found, strict=True):
        scores = sum(clip_matrices[name] for name in members)
        for query, column in enumerate(OF_CAPTIONS):
            best = sorted(range(CLIPS), key=lambda clip: -scores[query, clip])[:10]
            expected = 1 / (best.index(column) + 1) if column in best else 0.0
            assert row[query] == pytest.approx(expected)


def test_places_and_differences_are_to_the_first_set(clip_matrices):
    sets = member_sets(["a", "b"], ["c", "d"])
    found = precisions(sets, clip_matrices, OF_CAPTIONS)
    rows = subset_rows("ours", sets, found[:, :30], found, ClusterResamples(OF_CAPTIONS))
    by_set = {row["members"]: row for row in rows}
    means = dict(zip(map(" ".join, sets), found.mean(axis=1), strict=True))
    for name, row in by_set.items():
        assert row["map_at_10"] == pytest.approx(means[name])
        assert row["difference"] == pytest.approx(means[name] - means["a b"], abs=1e-6)
        assert row["place"] == 1 + sum(other > means[name] for other in means.values())
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert (by_set["a b"]["difference_low"], by_set["a b"]["difference_high"]) == (0, 0)
    counts = {name: (row["removed"], row["added"]) for name, row in by_set.items()}
    assert counts["a"] == (1, 0) and counts["a b c d"] == (0, 2) and counts["a b"] == (0, 0)
    assert by_set["a"]["validation_map_at_10"] == pytest.approx(found[1, :30].mean(), abs=1e-6)


KEYWORDS = ["dog;bark;field-recording", "rain;roof;field-recording", "dogs;rain;H4n"]


def test_scores_are_cosines_of_weighted_counts_worked_out_by_hand():
    scores = keyword_scores(["A dog in the rain"], KEYWORDS)
    common = math.log(4 / 3) + 1  # smoothed inverse document frequency: in two of three clips
    rare = math.log(4 / 2) + 1
    # dog, bark, field, record; rain, roof, field, record; dog, rain, h4n
    lengths = [math.hypot(common, rare, common, common)] * 2 + [math.hypot(common, common, rare)]
    query = math.hypot(common, common)
    expected = [common**2, common**2, 2 * common**2] / (np.array(lengths) * query)
    assert scores[0] == pytest.approx(expected)

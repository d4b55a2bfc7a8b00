"""Ensembles of similarity matrices, every subset of their members, and the search in keywords."""

import math
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest

from triptych.audio.scoring.ensemble import member_sets, precisions, selected_members, subset_rows
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.scores import keyword_scores

COLUMNS = np.repeat(np.arange(20), 5)
NOISE = {"good": 0.8, "fair": 0.9, "poor": 1.2, "no": 50.0}
Matrices = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def matrices() -> Matrices:
    """Similarities by models that know the truth but for noise."""
    random = np.random.default_rng(3)
    truth = np.eye(20)[COLUMNS]
    return {
        name: truth + noise * random.standard_normal((100, 20)) for name, noise in NOISE.items()
    }


def plain_precisions(matrices: Matrices, members: Sequence[str]) -> list[float]:
    found = []
    for scores, column in zip(sum(matrices[name] for name in members), COLUMNS, strict=True):
        best = sorted(range(20), key=lambda clip: -scores[clip])[:10]
        found.append(1 / (best.index(column) + 1) if column in best else 0.0)
    return found


def test_selection_begins_with_the_best_and_each_step_is_the_best_single_addition(matrices):
    members = selected_members(matrices, COLUMNS)
    assert len(members) >= 2
    reached = 0.0
    for size in range(len(members) + 1):
        others = [run for run in matrices if run not in members[:size]]
        best = {run: np.mean(plain_precisions(matrices, [*members[:size], run])) for run in others}
        if size == len(members):
            assert max(best.values(), default=0.0) <= reached
        else:
            assert best[members[size]] == max(best.values()) > reached
            reached = best[members[size]]


def test_the_sets_are_every_subset_of_the_members_and_the_members_with_more():
    sets = member_sets(list("abc"), list("xy"))
    powerset = chain.from_iterable(combinations("abc", size) for size in (1, 2, 3))
    larger = map(frozenset, ("abcx", "abcy", "abcxy"))
    assert set(map(frozenset, sets)) == {*map(frozenset, powerset), *larger}
    assert sets[0] == ("a", "b", "c") and len(sets) == 10


def test_places_and_differences_are_to_the_first_set(matrices):
    sets = member_sets(["good", "fair"], ["poor", "no"])
    found = precisions(sets, matrices, COLUMNS)
    expected = [plain_precisions(matrices, members) for members in sets]
    assert found == pytest.approx(np.array(expected))
    means = np.mean(expected, axis=1)
    rows = subset_rows("ours", sets, found[:, :30], found, ClusterResamples(COLUMNS))
    for row, members, mean in zip(rows, sets, means, strict=True):
        assert (row["members"], row["models"]) == (" ".join(members), len(members))
        assert row["map_at_10"] == pytest.approx(mean)
        assert row["difference"] == pytest.approx(mean - means[0], abs=1e-6)
        assert row["place"] == 1 + sum(means > mean)
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert (rows[0]["difference_low"], rows[0]["difference_high"]) == (0, 0)
    changes = {row["members"]: (row["removed"], row["added"]) for row in rows}
    assert changes["good fair"] == (0, 0) and changes["good"] == (1, 0)
    assert changes["good fair poor no"] == (0, 2)
    assert rows[1]["validation_map_at_10"] == pytest.approx(found[1, :30].mean(), abs=1e-6)


def test_scores_are_cosines_of_weighted_counts_worked_out_by_hand():
    keywords = ["dog;bark;field-recording", "rain;roof;field-recording", "dogs;rain;H4n"]
    scores = keyword_scores(["A dog in the rain"], keywords)
    common = math.log(4 / 3) + 1  # smoothed inverse document frequency: in two of three clips
    rare = math.log(4 / 2) + 1
    # dog, bark, field, record; rain, roof, field, record; dog, rain, h4n
    lengths = [math.hypot(common, rare, common, common)] * 2 + [math.hypot(common, common, rare)]
    query = math.hypot(common, common)
    expected = [common**2, common**2, 2 * common**2] / (np.array(lengths) * query)
    assert scores[0] == pytest.approx(expected)

"""Every other ensemble: which sets there are, what each scores, and how they stand beside one."""

from itertools import chain, combinations

import numpy as np
import pytest

from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.subsets import SUBSETS, member_sets, precisions, subset_rows

CLIPS, CAPTIONS = 20, 3


@pytest.fixture
def matrices():
    random = np.random.default_rng(3)
    truth = np.repeat(np.eye(CLIPS), CAPTIONS, axis=0)
    noise = dict(zip("abcd", (0.5, 0.6, 0.9, 4.0), strict=True))
    return {
        name: truth + level * random.standard_normal(truth.shape) for name, level in noise.items()
    }


COLUMNS = np.repeat(np.arange(CLIPS), CAPTIONS)


def test_the_sets_are_every_subset_of_the_members_and_the_members_with_more():
    sets = member_sets(list("abc"), list("xy"))
    powerset = chain.from_iterable(combinations("abc", size) for size in (1, 2, 3))
    assert {frozenset(each) for each in sets} == {
        *map(frozenset, powerset),
        *map(frozenset, ("abcx", "abcy", "abcxy")),
    }
    assert sets[0] == ("a", "b", "c") and len(sets) == len(set(sets)) == 10
    assert len(member_sets([str(n) for n in range(8)], [])) == 255


def test_each_set_scores_what_a_plain_loop_over_its_mean_similarities_finds(matrices):
    sets = member_sets(["a", "b"], ["c", "d"])
    found = precisions(sets, matrices, COLUMNS)
    for members, row in zip(sets, found, strict=True):
        scores = sum(matrices[name] for name in members)
        for query, column in enumerate(COLUMNS):
            best = sorted(range(CLIPS), key=lambda clip: -scores[query, clip])[:10]
            expected = 1 / (best.index(column) + 1) if column in best else 0.0
            assert row[query] == pytest.approx(expected)


def test_places_and_differences_are_to_the_first_set(matrices):
    sets = member_sets(["a", "b"], ["c", "d"])
    found = precisions(sets, matrices, COLUMNS)
    rows = subset_rows("ours", sets, found[:, :30], found, ClusterResamples(COLUMNS))
    assert all(tuple(row) == SUBSETS for row in rows)
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

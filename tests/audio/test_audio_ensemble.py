"""Ensembles of similarity matrices."""

from itertools import combinations

import numpy as np
import pytest

from triptych.audio.scoring.ensemble import listed_ensemble, mean_scores, selected_ensemble
from triptych.audio.scoring.metrics import mean_average_precision

COLUMNS = np.repeat(np.arange(20), 5)


def noisy(noise: float, seed: int) -> np.ndarray:
    return np.eye(20)[COLUMNS] + noise * np.random.default_rng(seed).standard_normal((100, 20))


@pytest.fixture
def matrices() -> dict[str, np.ndarray]:
    return {"good": noisy(0.8, 0), "fair": noisy(0.9, 1), "poor": noisy(1.2, 2), "no": noisy(50, 3)}


def score(matrices: dict[str, np.ndarray], members: tuple[str, ...]) -> float:
    return mean_average_precision(sum(matrices[m] for m in members) / len(members), COLUMNS)


def test_the_ensemble_of_one_model_twice_is_that_model(matrices):
    assert mean_scores([matrices["good"]] * 2) == pytest.approx(matrices["good"])


def test_matrices_of_different_queries_are_refused(matrices):
    with pytest.raises(ValueError, match="one shape"):
        mean_scores([matrices["good"], matrices["good"][1:]])
    with pytest.raises(ValueError, match="none"):
        mean_scores([])


def test_members_of_a_list_keep_its_order_and_are_scored_one_after_another(matrices):
    ensemble = listed_ensemble("published", ["poor", "good"], matrices, COLUMNS)
    assert ensemble.members == ("poor", "good")
    assert ensemble.validation == pytest.approx(
        (score(matrices, ("poor",)), score(matrices, ("poor", "good")))
    )


def test_a_member_without_scores_is_named(matrices):
    with pytest.raises(ValueError, match="absent"):
        listed_ensemble("published", ["good", "absent"], matrices, COLUMNS)


def test_selection_begins_with_the_best_and_each_step_is_the_best_single_addition(matrices):
    ensemble = selected_ensemble("selected", matrices, COLUMNS)
    assert len(ensemble.members) >= 2
    for size, reached in enumerate(ensemble.validation, start=1):
        before = ensemble.members[: size - 1]
        others = [run for run in matrices if run not in before]
        assert reached == pytest.approx(max(score(matrices, (*before, run)) for run in others))
    assert list(ensemble.validation) == sorted(ensemble.validation)


def test_selection_stops_where_no_further_model_raises_the_score(matrices):
    ensemble = selected_ensemble("selected", matrices, COLUMNS)
    assert "no" not in ensemble.members
    left = [run for run in matrices if run not in ensemble.members]
    assert all(score(matrices, (*ensemble.members, run)) <= ensemble.validation[-1] for run in left)


def test_selection_finds_the_best_subset_of_these_four(matrices):
    best = max(
        score(matrices, members)
        for size in (1, 2, 3, 4)
        for members in combinations(matrices, size)
    )
    chosen = selected_ensemble("selected", matrices, COLUMNS)
    assert chosen.validation[-1] == pytest.approx(best)

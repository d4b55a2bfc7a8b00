"""Ensembles: the mean of several models' cosine similarities (docs/differences.md).

The report's authors kept the eight that were best on the *test* split; here that list is scored as
published, and beside it members chosen on the validation split. They say that any model more or
fewer reduces the score (Section 3): all such ensembles are compared with the listed one.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import (
    Floats,
    Integers,
    mean_average_precision,
    ranks,
    reciprocal_ranks,
)


def mean_scores(matrices: Sequence[Floats]) -> Floats:
    """Mean of score matrices, each [Q, C], of the same queries and clips."""
    total = np.zeros(matrices[0].shape)
    for matrix in matrices:  # in place: eight of Clotho's matrices at once would take 350 MB more
        total += matrix
    return total / len(matrices)


def selected_members(matrices: Mapping[str, Floats], columns: Integers) -> list[str]:
    """Members chosen greedily: each time the first that raises the mAP@10 most, if any does.

    matrices: validation scores [Q, C] by run; columns: [Q] of the true clips.
    """
    members: list[str] = []
    reached, total = -1.0, np.zeros(())
    while candidates := [run for run in matrices if run not in members]:
        scores = {
            run: mean_average_precision((total + matrices[run]) / (len(members) + 1), columns)
            for run in candidates
        }
        best = max(candidates, key=lambda run: scores[run])
        if scores[best] <= reached:
            break
        members.append(best)
        reached, total = scores[best], total + matrices[best]
    return members


def member_sets(members: Sequence[str], others: Sequence[str]) -> list[tuple[str, ...]]:
    """All members first; each other non-empty set of them; all members with each set of others."""
    smaller = [
        chosen for size in range(len(members), 0, -1) for chosen in combinations(members, size)
    ]
    larger = [
        (*members, *chosen)
        for size in range(1, len(others) + 1)
        for chosen in combinations(others, size)
    ]
    return smaller + larger


def precisions(
    sets: Sequence[Sequence[str]], matrices: Mapping[str, Floats], columns: Integers
) -> NDArray[np.float32]:
    """Average precision among the ten best of each query, by every set's mean similarity [S, Q].

    matrices: scores [Q, C] by run; columns: [Q] of the true clips.
    """
    values = np.empty((len(sets), len(columns)), np.float32)
    for row, members in enumerate(sets):
        matrix = mean_scores([matrices[member] for member in members])
        values[row] = reciprocal_ranks(ranks(matrix, columns))
    return values


def subset_rows(
    corpus: str,
    sets: Sequence[Sequence[str]],
    validation: NDArray[np.float32],
    evaluation: NDArray[np.float32],
    resamples: ClusterResamples,
) -> list[dict[str, Any]]:
    """Rows of subsets.csv, in the order of the sets, of which the first is the published ensemble.

    members: labels of runs, separated by blanks; removed, added: how many models fewer and more
    than in the published ensemble; difference: to that one, with the ends of simultaneous
    intervals; place: by evaluation mAP@10, 1 the best, equal ones alike. validation, evaluation: as
    `precisions` gives them; resamples: of the evaluation queries.
    """
    means = evaluation.mean(axis=1, dtype=np.float64)
    differences = resamples.simultaneous(evaluation - evaluation[:1])
    published = set(sets[0])
    rows = []
    for index, members in enumerate(sets):
        mean, gap = resamples.interval(evaluation[index]), differences[index]
        rows.append(
            {
                "corpus": corpus,
                "members": " ".join(members),
                "models": len(members),
                "removed": len(published - set(members)),
                "added": len(set(members) - published),
                "validation_map_at_10": float(validation[index].mean(dtype=np.float64)),
                "map_at_10": float(means[index]),
                "low": mean.low,
                "high": mean.high,
                "difference": gap.estimate,
                "difference_low": gap.low,
                "difference_high": gap.high,
                "place": 1 + int((means > means[index]).sum()),
            }
        )
    return rows

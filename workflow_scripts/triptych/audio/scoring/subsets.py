"""Whether any other ensemble is better: every subset of the members, and the members with more.

The report says that "adding additional models or removing models from the ensemble reduces the
performance on the test set" (Section 3). Hundreds of ensembles that share members are compared
with one, so the differences have simultaneous intervals.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triptych.audio.scoring.ensemble import mean_scores
from triptych.audio.scoring.intervals import ClusterResamples
from triptych.audio.scoring.metrics import Floats, Integers, ranks, reciprocal_ranks

SUBSETS = (
    *("corpus", "members", "models", "removed", "added", "validation_map_at_10"),
    *("map_at_10", "low", "high", "difference", "difference_low", "difference_high", "place"),
)
"""Columns of subsets.csv. members: labels of runs, separated by blanks; removed, added: how many
models fewer and more than in the published ensemble; difference: to that one, with the ends of
simultaneous intervals; place: by evaluation mAP@10, 1 the best, equal ones alike."""


def member_sets(members: Sequence[str], others: Sequence[str]) -> list[tuple[str, ...]]:
    """All members first; each other non-empty set of them; all members with each set of others.

    2^members + 2^others - 2 sets, each of which takes some 50 ms on Clotho's evaluation split.
    """
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
    found = np.empty((len(sets), len(columns)), np.float32)
    for row, members in enumerate(sets):
        matrix = mean_scores([matrices[member] for member in members])
        found[row] = reciprocal_ranks(ranks(matrix, columns))
    return found


def subset_rows(
    corpus: str,
    sets: Sequence[Sequence[str]],
    validation: NDArray[np.float32],
    evaluation: NDArray[np.float32],
    resamples: ClusterResamples,
) -> list[dict[str, Any]]:
    """Rows of SUBSETS, in the order of the sets, of which the first is the published ensemble.

    validation, evaluation: as `precisions` gives them; resamples: of the evaluation queries.
    """
    means = evaluation.mean(axis=1, dtype=np.float64)
    differences = resamples.simultaneous(evaluation - evaluation[:1])
    published = set(sets[0])
    rows = []
    for index, members in enumerate(sets):
        own, gap = resamples.interval(evaluation[index]), differences[index]
        rows.append(
            {
                "corpus": corpus,
                "members": " ".join(members),
                "models": len(members),
                "removed": len(published - set(members)),
                "added": len(set(members) - published),
                "validation_map_at_10": float(validation[index].mean(dtype=np.float64)),
                "map_at_10": float(means[index]),
                "low": own.low,
                "high": own.high,
                "difference": gap.estimate,
                "difference_low": gap.low,
                "difference_high": gap.high,
                "place": 1 + int((means > means[index]).sum()),
            }
        )
    return rows

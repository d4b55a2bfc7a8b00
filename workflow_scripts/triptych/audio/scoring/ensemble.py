"""Ensembles: the mean of several models' similarity matrices.

The report says that eight models are combined and not how; the mean of cosine similarities is the
natural reading (docs/differences.md). Its authors kept the eight that were best on the *test*
split; here that list is scored as published, and beside it members that are chosen on the
validation split alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triptych.audio.scoring.metrics import Floats, Integers, mean_average_precision


@dataclass(frozen=True)
class Ensemble:
    """Members in the order of their adding, with the validation mAP@10 after each."""

    name: str
    members: tuple[str, ...]
    validation: tuple[float, ...]


def mean_scores(matrices: Sequence[Floats]) -> Floats:
    """Mean of score matrices, each [Q, C]. Raises ValueError for none or for different shapes."""
    shapes = {matrix.shape for matrix in matrices}
    if len(shapes) != 1:
        raise ValueError(f"an ensemble needs matrices of one shape, got {sorted(shapes) or 'none'}")
    total = np.zeros(matrices[0].shape)
    for matrix in matrices:  # in place: eight of Clotho's matrices at once would take 350 MB more
        total += matrix
    return total / len(matrices)


def listed_ensemble(
    name: str, members: Sequence[str], matrices: Mapping[str, Floats], columns: Integers
) -> Ensemble:
    """An ensemble of given members, in the order given.

    matrices: each run's validation scores [Q, C]; columns: [Q] of the true clips.
    """
    missing = [member for member in members if member not in matrices]
    if missing or not members:
        raise ValueError(
            f"ensemble {name}: {missing[0] if missing else 'no'} member has no scores; there are "
            f"{', '.join(matrices)}"
        )
    steps = [
        mean_average_precision(mean_scores([matrices[m] for m in members[: count + 1]]), columns)
        for count in range(len(members))
    ]
    return Ensemble(name, tuple(members), tuple(steps))


def selected_ensemble(name: str, matrices: Mapping[str, Floats], columns: Integers) -> Ensemble:
    """Members chosen greedily: each time the one that raises the validation mAP@10 most.

    It begins with the best single model and ends when no other model raises the score. Among
    equal ones the first of `matrices` is taken.
    """
    members: list[str] = []
    steps: list[float] = []
    total: Floats | float = 0.0
    while candidates := [run for run in matrices if run not in members]:
        scores = {
            run: mean_average_precision((total + matrices[run]) / (len(members) + 1), columns)
            for run in candidates
        }
        best = max(candidates, key=lambda run: scores[run])
        if steps and scores[best] <= steps[-1]:
            break
        members.append(best)
        steps.append(scores[best])
        total = total + matrices[best]
    return Ensemble(name, tuple(members), tuple(steps))

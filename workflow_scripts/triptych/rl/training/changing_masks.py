"""Masks that change while their networks train, as their criteria's files say.

A mask changes by the weights at that moment and by draws that are keyed by task, seed, update and
layer, so that a training that resumes makes the same masks.
"""

from collections.abc import Sequence

import pandas as pd

from triptych.rl.methods import CRITERIA
from triptych.rl.pruning.unpruned import TrainedRow, criterion, weights_of
from triptych.rl.training.learner import Learner


class ChangingMasks:
    """When and how the masks of a stack's rows change.

    rows: the runs (`sweep.KEYS`), in the order of the stack. groups: names of the weights that are
    ranked together. updates: length of the training.
    """

    def __init__(self, rows: pd.DataFrame, groups: Sequence[Sequence[str]], updates: int) -> None:
        self._groups = groups
        self._rows = {}
        for k, row in enumerate(rows.to_dict("records")):
            if row["method"] in CRITERIA and CRITERIA[row["method"]].changes_masks:
                module = criterion(row["method"])
                self._rows[k] = row, module, module.change_updates(updates)

    def __bool__(self) -> bool:
        """Whether any row's mask changes."""
        return bool(self._rows)

    def after(self, update: int, learner: Learner) -> None:
        """Change the masks that change after update number `update` (from 1)."""
        for k, (row, module, updates) in self._rows.items():
            if update in updates:
                trained = TrainedRow(
                    weights={
                        name: value.detach()[k : k + 1]
                        for name, value in weights_of(learner.parameters).items()
                    },
                    masks={name: mask[k : k + 1] > 0 for name, mask in learner.masks.items()},
                    groups=self._groups,
                    percent=row["sparsity_percent"],
                    task=row["task"],
                    seed=row["seed"],
                    update=update,
                )
                learner.change_masks(k, module.changed(trained))

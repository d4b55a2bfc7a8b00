"""Diverged runs of a stack, whose other runs go on."""

import logging
from typing import Any

import pandas as pd
from torch import Tensor

from triptych.core.training_loop import EXPLODED, DivergedError
from triptych.rl.training.mixed_learner import MixedLearner

logger = logging.getLogger(__name__)

MAY_BE_NEGATIVE = ("actor",)
"""Its loss may be minus a value; those of other networks are sums of squares and divergences."""


class DivergedRuns:
    """Diverged runs of a stack: their places and the updates at which they were noticed.

    The rows of a stack don't see each other, so the others go on. A diverged run has no scores and
    no losses from then on, and all its weights are zero where they are saved or scored.
    """

    def __init__(self, rows: pd.DataFrame, learner: MixedLearner) -> None:
        self._rows, self._learner = rows, learner
        self.seen: dict[int, int] = {}

    def check(self, means: Tensor, first: Tensor | None, update: int) -> None:
        """Find runs whose losses [networks, K], means since the last row, are no longer good.

        first: the first row's means, where there is one. Raises DivergedError when none is left.
        """
        wrong = ~means.isfinite().all(0)
        if first is not None:
            names = enumerate(self._learner.networks)
            checked = [n for n, name in names if name not in MAY_BE_NEGATIVE]
            exploded = (means[checked] > EXPLODED * first[checked]) & (first[checked] > 0)
            wrong |= exploded.any(0)
        self._mark(wrong, update, "loss")

    def clear(self, update: int) -> None:
        """Find runs whose weights aren't finite; set the weights of all that diverged to zero."""
        self._mark(~self._learner.finite(), update, "weights")
        self._learner.clear(self.seen)

    def _mark(self, wrong: Tensor, update: int, what: str) -> None:
        for run in wrong.nonzero().flatten().tolist():
            if run in self.seen:
                continue
            self.seen[run] = update
            logger.warning(
                "%s diverged: its %s is not finite or has exploded at update %d. It gets no scores "
                "and weights of zero; the stack's other runs go on",
                self._name(run),
                what,
                update,
            )
        if len(self.seen) == len(self._rows):
            raise DivergedError(
                f"every run has diverged ({self._name(0)} at update {self.seen[0]}, and so on). "
                "Lower rl.training.learning_rate, or look at the data set's rewards."
            )

    def _name(self, run: int) -> str:
        row: dict[Any, Any] = self._rows.iloc[run].to_dict()
        return " ".join(f"{key} {value}" for key, value in row.items())

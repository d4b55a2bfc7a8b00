"""Runs of a stack that diverge, beside others that don't."""

import logging
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.training_loop import EXPLODED, DivergedError
from triptych.rl.training.learner import Learner

logger = logging.getLogger(__name__)

MAY_BE_NEGATIVE = ("actor",)
"""Its loss may be minus a value; those of other networks are sums of squares and divergences."""


class DivergedRuns:
    """Which runs of a stack have diverged, by their place and the update at which that was seen.

    The rows of a stack don't see each other, so the others go on. A diverged run has no scores and
    no losses from then on, and its weights stay those of the last checkpoint before: whatever is
    saved or scored holds finite numbers only.
    """

    def __init__(self, rows: pd.DataFrame, learner: Learner, checkpoint: Checkpoint) -> None:
        self._rows, self._learner, self._checkpoint = rows, learner, checkpoint
        self.seen: dict[int, int] = {}
        self._good: dict[int, dict[str, Tensor]] = {}

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

    def put_back(self, update: int) -> None:
        """Find runs whose weights aren't finite; put all that diverged back to good weights."""
        weights = [each.detach() for each in self._learner.parameters.values()]
        finite = [each.isfinite().flatten(1).all(1) for each in weights]
        self._mark(~torch.stack(finite).all(0), update, "weights")
        state = self._learner.state()
        for run in self.seen:
            for name, good in self._good_state(run).items():
                state[name][run].copy_(good)

    def _mark(self, wrong: Tensor, update: int, what: str) -> None:
        for run in wrong.nonzero().flatten().tolist():
            if run in self.seen:
                continue
            self.seen[run] = update
            logger.warning(
                "%s diverged: its %s is not finite or has exploded at update %d. Its weights stay "
                "those of the last checkpoint and it gets no scores; the stack's other runs go on",
                self._name(run),
                what,
                update,
            )
        if len(self.seen) == len(self._rows):
            raise DivergedError(
                f"every run has diverged ({self._name(0)} at update {self.seen[0]}, and so on); "
                f"the last good state is kept in {self._checkpoint.path}. Lower "
                "rl.training.learning_rate, or look at the data set's rewards. With other settings "
                "the training starts afresh; with these it diverges again."
            )

    def _good_state(self, run: int) -> dict[str, Tensor]:
        """A run's part of the last checkpoint; read once."""
        if run not in self._good:
            stored = self._checkpoint.load()
            assert stored is not None  # the training saves before its first update
            kept = stored["learner"]
            # A run that never was good may hold NaN from the start.
            self._good[run] = {
                name: value[run].nan_to_num(0.0, 0.0, 0.0).clone()
                for name, value in kept.items()
                if value.dim()
            }
        return self._good[run]

    def _name(self, run: int) -> str:
        row: dict[Any, Any] = self._rows.iloc[run].to_dict()
        return " ".join(f"{key} {value}" for key, value in row.items())

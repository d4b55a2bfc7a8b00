"""The state of a stack's training: what changes from update to update, and which runs diverged."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from triptych.core.stopping import Interrupted, Stop
from triptych.core.training_loop import EXPLODED, DivergedError
from triptych.rl.acting.evaluation import EvaluationSettings, evaluate
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.observations import Scaling
from triptych.rl.training.learner import Learner, StepSettings

logger = logging.getLogger(__name__)

POLL = 10
"""Updates between two checks of the clock, the signals and the losses."""
MAY_BE_NEGATIVE = ("actor",)
"""Its loss may be minus a value; those of other networks are sums of squares and divergences."""
Show = Callable[[pd.DataFrame, pd.DataFrame], None]
"""Is given the histories of scores and losses so far."""


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a stack's training; lengths and intervals are numbers of updates.

    algorithms: the first is trained, the others are scored from its networks. sparse: places of the
    runs that train with their kept weights alone.
    """

    algorithms: tuple[Algorithm, ...]
    steps: StepSettings
    evaluation: EvaluationSettings
    updates: int
    evaluate_every: int
    checkpoint_every: int
    precision: str
    sparse: tuple[int, ...] = ()


class StackTraining:
    """A stack of runs, as `TrainingLoop` trains it.

    The runs don't see each other, so when one diverges the others go on. A diverged run has no
    scores and no losses from then on, and all its weights are zero where they are saved or scored.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        learner: Learner,
        scaling: Scaling | None,
        settings: TrainingSettings,
        stop: Stop,
        show: Show,
    ) -> None:
        self._rows, self._learner, self._stop, self._scaling = rows, learner, stop, scaling
        self._settings, self._show = settings, show
        self.seeds = [int(seed) for seed in rows["seed"]]
        self._named_runs = [
            " ".join(f"{key} {value}" for key, value in row.items())
            for row in rows.to_dict("records")
        ]
        self.done = 0
        self._scores: list[dict[Any, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._summed = torch.zeros(len(learner.networks), len(rows), device=learner.device)
        self._columns = [f"{network}_loss" for network in learner.networks]
        self._diverged: dict[int, int] = {}  # update at which a run was noticed, by its place

    @property
    def evaluation_due(self) -> bool:
        """Whether the networks must be scored now."""
        every, updates = self._settings.evaluate_every, self._settings.updates
        return self.done > self._last and (self.done % every == 0 or self.done == updates)

    @property
    def _last(self) -> int:
        """The update of the last row of losses."""
        return self._losses[-1]["update"] if self._losses else 0

    def stop_reason(self) -> str | None:
        """Why to stop, or None; checked every POLL updates, as an update takes milliseconds."""
        return self._stop.reason if self.done and self.done % POLL == 0 else None

    def take(self, losses: Tensor) -> None:
        """Count an update and its losses [networks, K]."""
        self._summed += losses
        self.done += 1

    def check_divergence(self) -> str:
        """Mark runs whose losses, means since the last row, are no longer good. Returns "".

        Raises DivergedError when none is left.
        """
        means = self._means()
        wrong = ~means.isfinite().all(0)
        if self._losses:
            checked = [
                n for n, name in enumerate(self._learner.networks) if name not in MAY_BE_NEGATIVE
            ]
            first = torch.tensor([self._losses[0][name] for name in self._columns])
            first = first[checked].to(means.device)
            wrong |= ((means[checked] > EXPLODED * first) & (first > 0)).any(0)
        self._mark(wrong, "loss")
        return ""

    def _mark(self, wrong: Tensor, what: str) -> None:
        """Note the runs that have diverged [K]; raise DivergedError when all have."""
        for run in wrong.nonzero().flatten().tolist():
            if run not in self._diverged:
                self._diverged[run] = self.done
                logger.warning(
                    "%s diverged: its %s is not finite or has exploded at update %d. It gets no "
                    "scores and weights of zero; the stack's other runs go on",
                    self._named_runs[run],
                    what,
                    self.done,
                )
        if len(self._diverged) == len(self._named_runs):
            first = f"{self._named_runs[0]} at update {self._diverged[0]}"
            raise DivergedError(
                f"every run has diverged ({first}, and so on). Lower rl.training.learning_rate, or "
                "look at the data set's rewards."
            )

    def _clear_diverged(self) -> None:
        """Mark runs whose weights aren't finite; set the weights of all that diverged to zero."""
        self._mark(~self._learner.finite(), "weights")
        self._learner.clear(self._diverged)

    def _means(self) -> Tensor:
        """Each network's mean loss [networks, K] over its moves since the last row of losses."""
        moved = self._learner.moved
        counts = [moved(n, self.done) - moved(n, self._last) for n in self._learner.networks]
        return self._summed / torch.tensor(counts, device=self._summed.device).clamp(min=1)[:, None]

    def evaluate(self) -> bool:
        """Score the networks, and add a row to both histories."""
        self._clear_diverged()
        self._scores += self._scored()
        self._summed[:, list(self._diverged)] = torch.nan
        means = dict(zip(self._columns, self._means().tolist(), strict=True))
        self._losses.append({"update": self.done, **means})
        self._summed.zero_()
        self._show(*self.histories())
        return True

    def histories(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Scores and losses, each row with its run's keys in front."""
        losses = pd.DataFrame(self._losses).explode(self._columns)
        losses["policy"] = losses.groupby("update").cumcount()
        return self._named(pd.DataFrame(self._scores)), self._named(losses)

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put each run's keys in front of its records, in place of `policy`."""
        keys = self._rows.reset_index(drop=True).loc[frame["policy"]].reset_index(drop=True)
        return pd.concat([keys, frame.drop(columns="policy").reset_index(drop=True)], axis=1)

    def _scored(self) -> list[dict[Any, Any]]:
        """Scores of the networks, one record a policy, algorithm and episode; of runs that have
        diverged without steps and outcome."""
        records: list[dict[Any, Any]] = []
        for algorithm in self._settings.algorithms:
            frame = evaluate(
                algorithm,
                self._learner.parameters,
                self.seeds,
                self._settings.evaluation,
                update=self.done,
                final=self.done == self._settings.updates,
                scaling=self._scaling,
                interrupted=lambda: self._stop.reason,
            )
            if frame is None:
                raise Interrupted(self._stop.reason)
            unscored = frame["policy"].isin(self._diverged)
            if unscored.any():
                frame.loc[unscored, ["return", "score_normalised"]] = math.nan
                frame.loc[unscored, "steps"] = 0
            means = frame.groupby("policy")["score_normalised"].mean()
            shown = " ".join(f"{mean:.4g}" for mean in means)
            logger.info("update %d: %s scores %s", self.done, algorithm.name, shown)
            records += frame.assign(algorithm=algorithm.name, update=self.done).to_dict("records")
        return records

    def state(self) -> dict[str, Any]:
        """The state that the rest of the training depends on, in finite numbers."""
        self._clear_diverged()
        return {
            "update": self.done,
            "scores": self._scores,
            "losses": self._losses,
            "learner": self._learner.state(),
            "summed": self._summed,
            "diverged": self._diverged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.done, self._scores, self._losses = state["update"], state["scores"], state["losses"]
        self._learner.restore(state["learner"])
        self._summed.copy_(state["summed"])
        self._diverged = state["diverged"]
        if self._scores:
            self._show(*self.histories())

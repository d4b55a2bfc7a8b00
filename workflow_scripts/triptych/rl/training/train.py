"""Train a stack of runs: K networks that differ in seed and mask, from one data set, resumably."""

import json
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import save_file
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.errors import InputError
from triptych.core.files import atomic_path
from triptych.core.memory import keep_freed_memory
from triptych.core.stopping import Interrupted, Stop
from triptych.core.training_loop import EXPLODED, DivergedError, LoopSettings, TrainingLoop
from triptych.rl.acting.evaluation import EvaluationSettings, evaluate
from triptych.rl.methods import CRITERIA, DENSE
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import MAX_ACTION
from triptych.rl.pruning.keeping import check_masks
from triptych.rl.pruning.stack import PrunedStack
from triptych.rl.pruning.storage import SCALE, SHIFT
from triptych.rl.pruning.unpruned import TrainedRow, criterion, weights_of
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.training.learner import Learner, StepSettings, update_stepper

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


@dataclass(frozen=True)
class TrainedStack:
    """Final networks by name [K, ...], with how they see observations, boolean masks [K, in, out]
    at the end, and the tidy histories of scores and losses."""

    arrays: dict[str, np.ndarray]
    masks: dict[str, np.ndarray]
    scores: pd.DataFrame
    losses: pd.DataFrame


def train(
    stack: PrunedStack,
    data: DeviceData,
    settings: TrainingSettings,
    checkpoint: Checkpoint,
    stop: Stop,
    show: Show = lambda scores, losses: None,
) -> TrainedStack:
    """Train and score K runs of one task side by side, from a stack's initial weights and masks.

    A run's result does not depend, but for rounding, on the runs beside it. show: is given the
    histories of scores and losses so far, after each evaluation. Raises `Stopped` after saving
    when `stop` asks, DivergedError when every run has diverged (`StackTraining`), and InputError
    where a GPU's memory runs out.
    """
    rows, device = stack.rows, data.rewards.device
    data = data.seen_as(list(rows["observations"]))
    if device.type == "cpu":
        keep_freed_memory()
    run = StackTraining(stack, data, settings, stop, show)
    loop_settings = LoopSettings(
        settings.updates, ("update", "updates"), POLL, settings.checkpoint_every
    )
    loop = TrainingLoop(run, loop_settings, checkpoint, run.stop_reason)
    loop.restore(device)
    draws = Draws(run.seeds, data, settings.steps.batch, settings.algorithms[0])
    try:
        update = update_stepper(run.learner, data, draws, settings.precision)
        loop.run(f"{rows['task'].iloc[0]} x{len(rows)}", lambda: run.step(update))
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"the GPU's memory doesn't hold {len(rows)} runs ({str(error).split('. ')[0]}). Lower "
            "rl.runs_per_job, so that fewer runs are trained in one job, or set device: cpu."
        ) from error
    return run.trained()


class StackTraining:
    """A stack of runs, as `TrainingLoop` trains it.

    The runs don't see each other, so when one diverges the others go on. A diverged run has no
    scores and no losses from then on, and all its weights are zero where they are saved or scored.
    """

    def __init__(
        self,
        stack: PrunedStack,
        data: DeviceData,
        settings: TrainingSettings,
        stop: Stop,
        show: Show,
    ) -> None:
        self._rows, self._scaling, self._settings = stack.rows, data.scaling, settings
        self._stop, self._show = stop, show
        algorithm, device = settings.algorithms[0], data.rewards.device
        groups = list(algorithm.groups().values())
        self._changing = ChangingMasks(self._rows, groups, settings.updates)
        masks = {} if (self._rows["method"] == DENSE).all() else stack.masks
        self.learner = Learner(
            {name: value.to(device) for name, value in stack.initial.items()},
            {name: torch.as_tensor(mask).to(device) for name, mask in masks.items()},
            algorithm,
            settings.steps,
            masks_change=bool(self._changing),
            sparse=settings.sparse,
        )
        if settings.sparse:
            counts = len(settings.sparse), len(self._rows)
            logger.info("%d of %d runs train with their kept weights alone", *counts)
        self.seeds = [int(seed) for seed in self._rows["seed"]]
        self._named_runs = [
            " ".join(f"{key} {value}" for key, value in row.items())
            for row in self._rows.to_dict("records")
        ]
        self.done = 0
        self._scores: list[dict[Any, Any]] = []
        self._losses: list[dict[str, Any]] = []
        networks = self.learner.networks
        self._summed = torch.zeros(len(networks), len(self._rows), device=device)
        self._columns = [f"{network}_loss" for network in networks]
        self._diverged: dict[int, int] = {}  # update at which a run was noticed, by its place

    @property
    def evaluation_due(self) -> bool:
        every, updates = self._settings.evaluate_every, self._settings.updates
        return self.done > self._last and (self.done % every == 0 or self.done == updates)

    @property
    def _last(self) -> int:
        """The update of the last row of losses."""
        return self._losses[-1]["update"] if self._losses else 0

    def stop_reason(self) -> str | None:
        """Why to stop, or None; checked every POLL updates, as an update takes milliseconds."""
        return self._stop.reason if self.done and self.done % POLL == 0 else None

    def step(self, update: Callable[[int], Tensor]) -> None:
        """Perform the next update, and change the masks that change after it.

        update: as `update_stepper` returns it.
        """
        settings = self._settings
        self.learner.set_rate(settings.steps.rate(self.done, settings.updates))
        self._summed += update(self.done)
        self.done += 1
        self._changing.after(self.done, self.learner)

    def check_divergence(self) -> str:
        """Mark runs whose losses, means since the last row, are no longer good. Returns "".

        Raises DivergedError when none is left.
        """
        means = self._means()
        wrong = ~means.isfinite().all(0)
        if self._losses:
            checked = [
                n for n, name in enumerate(self.learner.networks) if name not in MAY_BE_NEGATIVE
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
        self._mark(~self.learner.finite(), "weights")
        self.learner.clear(self._diverged)

    def _means(self) -> Tensor:
        """Each network's mean loss [networks, K] over its moves since the last row of losses."""
        moved = self.learner.moved
        counts = [moved(n, self.done) - moved(n, self._last) for n in self.learner.networks]
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
                self.learner.parameters,
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
            "learner": self.learner.state(),
            "summed": self._summed,
            "diverged": self._diverged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.done, self._scores, self._losses = state["update"], state["scores"], state["losses"]
        self.learner.restore(state["learner"])
        self._summed.copy_(state["summed"])
        self._diverged = state["diverged"]
        if self._scores:
            self._show(*self.histories())

    def trained(self) -> TrainedStack:
        """The networks as they are, with the histories."""
        arrays = dict(self.learner.parameters)
        if self._scaling:
            arrays |= {SHIFT: self._scaling.shift, SCALE: self._scaling.scale}
        scores, losses = self.histories()
        return TrainedStack(
            arrays={name: value.detach().cpu().numpy() for name, value in arrays.items()},
            masks={name: mask.cpu().numpy() for name, mask in self.learner.masks().items()},
            scores=scores,
            losses=losses,
        )


class ChangingMasks:
    """When and how the masks of a stack's rows change while their networks train.

    A mask changes as its criterion's file says, by the weights at that moment and by draws that are
    keyed by task, seed, update and layer, so that a training that resumes makes the same masks.

    rows: the runs (`sweep.KEYS`), in the order of the stack. groups: names of the weights that are
    ranked together. updates: length of the training.
    """

    def __init__(self, rows: pd.DataFrame, groups: list[list[str]], updates: int) -> None:
        self._groups, self._updates = groups, updates
        self._rows = {}
        for k, row in enumerate(rows.to_dict("records")):
            if row["method"] in CRITERIA and CRITERIA[row["method"]].changes_masks:
                module = criterion(row["method"])
                self._rows[k] = row, module, module.change_updates(updates)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def after(self, update: int, learner: Learner) -> None:
        """Change the masks that change after update number `update` (from 1)."""
        for k, (row, module, updates) in self._rows.items():
            if update in updates:
                last = max(number for number in updates if number <= self._updates)
                weights = weights_of(learner.parameters).items()
                trained = TrainedRow(
                    weights={name: value[k : k + 1] for name, value in weights},
                    masks={name: mask[k : k + 1] for name, mask in learner.masks().items()},
                    groups=self._groups,
                    percent=row["sparsity_percent"],
                    task=row["task"],
                    seed=row["seed"],
                    update=update,
                )
                changed = module.changed(trained)
                percent = trained.percent if update == last else None
                check_masks(row["method"], changed, trained.weights, self._groups, percent)
                learner.change_masks(k, changed)


def acting_settings(settings: TrainingSettings) -> dict[str, Any]:
    """Settings of acting to store with the trained networks."""
    algorithm, evaluation = settings.algorithms[0], settings.evaluation
    metadata: dict[str, Any] = {"algorithm": algorithm.name, "max_action": MAX_ACTION}
    metadata |= algorithm.policy_metadata(evaluation.candidates)
    spaces = spaces_of(evaluation.task)
    if spaces.scaled:  # what a policy gives lies in [-1, 1], and stands for these bounds
        metadata |= {"action_low": spaces.low.tolist(), "action_high": spaces.high.tolist()}
    return metadata


def write_policies(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    rows: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
) -> None:
    """Write K trained networks with their rows and settings of acting as one safetensors file.

    arrays: [K, ...] by name; where networks see others than raw observations, shift and scale too.
    """
    # One entry only: safetensors writes several in no fixed order.
    metadata = {"policies": json.dumps({"rows": rows, "settings": settings}, sort_keys=True)}
    with atomic_path(path) as temporary:
        save_file(
            {name: np.ascontiguousarray(array) for name, array in arrays.items()},
            temporary,
            metadata=metadata,
        )

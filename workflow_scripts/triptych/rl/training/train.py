"""Train a stack of runs: K networks that differ in seed and mask, from one data set, resumably."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import precision_context
from triptych.core.memory import OomRetry, keep_freed_memory
from triptych.core.stopping import Interrupted, Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop
from triptych.rl.acting.evaluation import EvaluationSettings, evaluate
from triptych.rl.acting.stored_policy import Policies
from triptych.rl.methods import DENSE
from triptych.rl.networks.algorithm import Algorithm
from triptych.rl.networks.observations import Scaling
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import MAX_ACTION, Noise
from triptych.rl.pruning.stack import PrunedStack
from triptych.rl.pruning.storage import SCALE, SHIFT
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.sweep import keys_of
from triptych.rl.training.changing_masks import ChangingMasks
from triptych.rl.training.diverged_runs import DivergedRuns
from triptych.rl.training.learner import Learner, StepSettings
from triptych.rl.training.mixed_learner import MixedLearner

logger = logging.getLogger(__name__)

POLL = 10
"""Updates between two checks of the clock, the signals and the losses."""


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
    """Final networks by name [K, ...], with how they see observations, and the tidy histories of
    scores and losses.

    masks: boolean [K, in, out] at the end of the training, empty unless some have changed.
    """

    arrays: dict[str, np.ndarray]
    scores: pd.DataFrame
    losses: pd.DataFrame
    masks: dict[str, np.ndarray]


def train(
    stack: PrunedStack,
    data: DeviceData,
    settings: TrainingSettings,
    checkpoint: Checkpoint,
    stop: Stop,
    show: Callable[[pd.DataFrame, pd.DataFrame], None] = lambda scores, losses: None,
) -> TrainedStack:
    """Train and score K runs of one task side by side, from a stack's initial weights and masks.

    A run's result does not depend, but for rounding, on the runs beside it. show: is given the
    histories of scores and losses so far, after each evaluation. Raises `Stopped` after
    saving when `stop` asks, and DivergedError when every run has diverged (`DivergedRuns`).
    """
    rows, device = stack.rows, data.rewards.device
    data = data.seen_as(list(rows["observations"]))
    if device.type == "cpu":
        keep_freed_memory()
    all_dense = bool((rows["method"] == DENSE).all())
    masks = {} if all_dense else {n: torch.as_tensor(m).to(device) for n, m in stack.masks.items()}
    algorithm = settings.algorithms[0]
    changing = ChangingMasks(
        rows.drop(rows.index[list(settings.sparse)]),
        list(algorithm.groups(stack.scope).values()),
        settings.updates,
    )
    learner = MixedLearner(
        {name: value.to(device) for name, value in stack.initial.items()},
        masks,
        algorithm,
        settings.steps,
        masks_change=bool(changing),
        sparse=settings.sparse,
    )
    if settings.sparse:
        counts = len(settings.sparse), len(rows)
        logger.info("%d of %d runs train with their kept weights alone", *counts)
    run = _Training(rows, learner, data.scaling, settings, stop, show)
    loop_settings = LoopSettings(
        settings.updates, ("update", "updates"), POLL, settings.checkpoint_every
    )
    loop = TrainingLoop(run, loop_settings, checkpoint, run.stop_reason)
    loop.restore(device)
    draws = Draws(run.seeds, data, settings.steps.batch, algorithm)
    update = update_stepper(learner, data, draws, settings.precision)

    def take_step() -> None:
        learner.set_rate(settings.steps.rate(run.done, settings.updates))
        run.take(update(run.done))
        if learner.dense:
            changing.after(run.done, learner.dense)

    loop.run(f"{run.task} x{len(run.seeds)}", take_step)
    trained = run.trained()
    if not (changing and learner.dense):
        return trained
    changed = {name: mask.cpu().numpy() for name, mask in masks.items()}
    for name, mask in learner.dense.masks.items():
        changed[name][learner.dense_rows] = (mask > 0).cpu().numpy()
    return replace(trained, masks=changed)


class _Training:
    """The state of a stack's training: all that changes from update to update."""

    def __init__(
        self,
        rows: pd.DataFrame,
        learner: MixedLearner,
        scaling: Scaling | None,
        settings: TrainingSettings,
        stop: Stop,
        show: Callable[[pd.DataFrame, pd.DataFrame], None],
    ) -> None:
        self._rows, self._learner, self._stop, self._scaling = rows, learner, stop, scaling
        self._settings, self._show = settings, show
        self.task = str(rows["task"].iloc[0])
        self.seeds = [int(seed) for seed in rows["seed"]]
        self.done = 0
        self._scores: list[dict[Any, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._summed = torch.zeros(len(learner.networks), len(rows), device=learner.device)
        self._diverged = DivergedRuns(rows, learner)

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

    def take(self, losses: Tensor) -> None:
        """Count an update and its losses [networks, K]."""
        self._summed += losses
        self.done += 1

    def check_divergence(self) -> str:
        """Mark diverged runs; raise DivergedError when all have diverged. Returns ""."""
        first = None
        if self._losses:
            means = [self._losses[0][f"{network}_loss"] for network in self._learner.networks]
            first = torch.tensor(means, device=self._summed.device)
        self._diverged.check(self._means(), first, self.done)
        return ""

    def _means(self) -> Tensor:
        """Each network's mean loss [networks, K] over its moves since the last row of losses."""
        moved = self._learner.moved
        counts = [moved(n, self.done) - moved(n, self._last) for n in self._learner.networks]
        return torch.stack(
            [total / max(1, n) for total, n in zip(self._summed, counts, strict=True)]
        )

    def evaluate(self) -> bool:
        self._diverged.clear(self.done)
        self._scores += self._scored()
        self._summed[:, list(self._diverged.seen)] = torch.nan
        means = self._means().tolist()
        names = [f"{network}_loss" for network in self._learner.networks]
        self._losses.append({"update": self.done, **dict(zip(names, means, strict=True))})
        self._summed.zero_()
        self._show(*self._histories())
        return True

    def _histories(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Scores and losses, each row with its run's keys in front."""
        keys = self._rows.reset_index(drop=True)
        columns = [f"{network}_loss" for network in self._learner.networks]
        losses = pd.DataFrame(self._losses).explode(columns)
        return _named(pd.DataFrame(self._scores), keys), _named(losses, keys)

    def _scored(self) -> list[dict[Any, Any]]:
        """Scores of the networks, one record a policy, algorithm and episode; of runs that have
        diverged without steps and outcome."""
        records: list[dict[Any, Any]] = []
        final = self.done == self._settings.updates
        for algorithm in self._settings.algorithms:
            frame = evaluate(
                algorithm,
                self._learner.parameters,
                self.seeds,
                self._settings.evaluation,
                update=self.done,
                final=final,
                scaling=self._scaling,
                interrupted=lambda: self._stop.reason,
            )
            if frame is None:
                raise Interrupted(self._stop.reason)
            unscored = frame["policy"].isin(self._diverged.seen)
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
        self._diverged.clear(self.done)
        return {
            "update": self.done,
            "scores": self._scores,
            "losses": self._losses,
            "learner": self._learner.state(),
            "portion": self._learner.portion.size,
            "summed": self._summed,
            "diverged": self._diverged.seen,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done, self._scores, self._losses = state["update"], state["scores"], state["losses"]
        self._learner.restore(state["learner"])
        self._learner.portion.size = state["portion"]
        self._summed.copy_(state["summed"])
        self._diverged.seen = state["diverged"]
        if self._scores:
            self._show(*self._histories())

    def trained(self) -> TrainedStack:
        """Arrays and tables."""
        scores, losses = self._histories()
        arrays = dict(self._learner.parameters)
        if self._scaling:
            arrays |= {SHIFT: self._scaling.shift, SCALE: self._scaling.scale}
        return TrainedStack(
            arrays={name: value.detach().cpu().numpy() for name, value in arrays.items()},
            scores=scores,
            losses=losses,
            masks={},
        )


def update_stepper(
    learner: Learner | MixedLearner, data: DeviceData, draws: Draws, precision: str
) -> Callable[[int], Tensor]:
    """A function that performs update number u and returns the losses [networks, K]."""
    device = data.rewards.device

    def perform(index: Tensor, noise: Noise, update: int) -> Tensor:
        with precision_context(device, precision):
            losses = learner.update(data.batch(index), noise, update)
            return torch.stack(list(losses.values())).float()

    if device.type != "cuda":
        return lambda update: perform(*draws.at(update), update)

    # An update is some 300 small kernels: captured as a CUDA graph they cost one launch. The graph
    # reads its indices and noise from fixed tensors, which each step fills. Updates of one
    # remainder by the algorithm's period are one graph.
    index, noise = draws.at(0)
    index = index.clone()
    noise = {name: value.clone() for name, value in noise.items()}
    before = {name: value.clone() for name, value in learner.state().items()}
    warming = torch.cuda.Stream()
    warming.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warming):
        for number in range(3 * learner.period):
            perform(index, noise, number)
    torch.cuda.current_stream().wait_stream(warming)
    graphs = [
        _recorded(partial(perform, index, noise, number), learner.portion)
        for number in range(learner.period)
    ]
    learner.restore(before)

    def replay(update: int) -> Tensor:
        drawn_index, drawn_noise = draws.at(update)
        index.copy_(drawn_index)
        for name, value in drawn_noise.items():
            noise[name].copy_(value)
        graph, losses = graphs[update % learner.period]
        graph.replay()
        return losses

    return replay


def _recorded(
    update: Callable[[], Tensor], portion: OomRetry
) -> tuple[torch.cuda.CUDAGraph, Tensor]:
    """A graph of one update, and the tensor in which it leaves the losses."""
    while True:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                losses = update()
            return graph, losses
        except torch.OutOfMemoryError as error:
            reason = str(error).split(". ")[0]
        del graph
        portion.halve(reason)


def _named(frame: pd.DataFrame, keys: pd.DataFrame) -> pd.DataFrame:
    """Put each run's keys in front of its records."""
    if "policy" not in frame:
        frame = frame.assign(policy=frame.groupby("update").cumcount())
    named = keys.loc[frame["policy"]].reset_index(drop=True)
    return pd.concat([named, frame.drop(columns="policy").reset_index(drop=True)], axis=1)


def policies_of(rows: pd.DataFrame, trained: TrainedStack, settings: TrainingSettings) -> Policies:
    """The trained networks with all that is needed to let them act."""
    algorithm, evaluation = settings.algorithms[0], settings.evaluation
    metadata: dict[str, Any] = {"algorithm": algorithm.name, "max_action": MAX_ACTION}
    metadata |= algorithm.policy_metadata(evaluation.candidates)
    spaces = spaces_of(evaluation.task)
    if spaces.scaled:  # what a policy gives lies in [-1, 1], and stands for these bounds
        metadata |= {"action_low": spaces.low.tolist(), "action_high": spaces.high.tolist()}
    return Policies(trained.arrays, [keys_of(row) for row in rows.to_dict("records")], metadata)

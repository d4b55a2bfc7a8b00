"""Train a stack of runs: K networks that differ in seed and mask, from one data set, resumably."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import precision_context
from triptych.core.errors import InputError
from triptych.core.memory import keep_freed_memory
from triptych.core.stopping import Stop
from triptych.core.training_loop import LoopSettings, TrainingLoop
from triptych.rl.methods import CRITERIA, DENSE
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import MAX_ACTION, Noise
from triptych.rl.pruning.keeping import check_masks
from triptych.rl.pruning.stack import PrunedStack
from triptych.rl.pruning.storage import SCALE, SHIFT
from triptych.rl.pruning.unpruned import TrainedRow, criterion, weights_of
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.training.learner import Learner
from triptych.rl.training.state import POLL, Show, StackTraining, TrainingSettings

logger = logging.getLogger(__name__)


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
    all_dense = bool((rows["method"] == DENSE).all())
    masks = {} if all_dense else {n: torch.as_tensor(m).to(device) for n, m in stack.masks.items()}
    algorithm = settings.algorithms[0]
    changing = ChangingMasks(rows, list(algorithm.groups().values()), settings.updates)
    learner = Learner(
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
    run = StackTraining(rows, learner, data.scaling, settings, stop, show)
    loop_settings = LoopSettings(
        settings.updates, ("update", "updates"), POLL, settings.checkpoint_every
    )
    loop = TrainingLoop(run, loop_settings, checkpoint, run.stop_reason)
    loop.restore(device)
    draws = Draws(run.seeds, data, settings.steps.batch, algorithm)
    try:
        update = update_stepper(learner, data, draws, settings.precision)

        def take_step() -> None:
            learner.set_rate(settings.steps.rate(run.done, settings.updates))
            run.take(update(run.done))
            changing.after(run.done, learner)

        loop.run(f"{rows['task'].iloc[0]} x{len(rows)}", take_step)
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"the GPU's memory doesn't hold {len(rows)} runs ({str(error).split('. ')[0]}). Lower "
            "rl.runs_per_job, so that fewer runs are trained in one job, or set device: cpu."
        ) from error
    arrays = dict(learner.parameters)
    if data.scaling:
        arrays |= {SHIFT: data.scaling.shift, SCALE: data.scaling.scale}
    scores, losses = run.histories()
    return TrainedStack(
        arrays={name: value.detach().cpu().numpy() for name, value in arrays.items()},
        masks={name: mask.cpu().numpy() for name, mask in learner.masks().items()},
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
        """Whether any row's mask changes."""
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


def update_stepper(
    learner: Learner, data: DeviceData, draws: Draws, precision: str
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
    graphs = []
    for number in range(learner.period):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            graphs.append((graph, perform(index, noise, number)))
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


def acting_settings(settings: TrainingSettings) -> dict[str, Any]:
    """Settings of acting to store with the trained networks."""
    algorithm, evaluation = settings.algorithms[0], settings.evaluation
    metadata: dict[str, Any] = {"algorithm": algorithm.name, "max_action": MAX_ACTION}
    metadata |= algorithm.policy_metadata(evaluation.candidates)
    spaces = spaces_of(evaluation.task)
    if spaces.scaled:  # what a policy gives lies in [-1, 1], and stands for these bounds
        metadata |= {"action_low": spaces.low.tolist(), "action_high": spaces.high.tolist()}
    return metadata

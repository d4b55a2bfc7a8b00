"""Train a stack of runs: K networks that differ in seed and mask, from one data set, resumably."""

import logging
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from triptych.core.checkpoint import Checkpoint
from triptych.core.device import precision_context
from triptych.core.portion import Portion
from triptych.core.progress import Progress
from triptych.core.stopping import Stopped, StopRequest
from triptych.rl.bcq import BcqSettings, Learner, Noise, StepSettings
from triptych.rl.diverged_runs import DivergedRuns
from triptych.rl.evaluation import EvaluationSettings, evaluate
from triptych.rl.networks import Parameters
from triptych.rl.sampling import DeviceData, Draws

logger = logging.getLogger(__name__)

POLL = 10
"""Updates between two looks at the clock, the signals and the losses."""


@dataclass(frozen=True)
class TrainingSettings:
    """Length and rhythm of a run; all counts are updates."""

    updates: int
    evaluate_every: int
    checkpoint_every: int
    precision: str
    algorithms: tuple[str, ...]  # "BCQ" and "BC", or "BC" alone: then only the VAE is trained


@dataclass(frozen=True)
class TrainedStack:
    """Final networks by name [K, ...], and the tidy histories of scores and losses."""

    arrays: dict[str, np.ndarray]
    scores: pd.DataFrame
    losses: pd.DataFrame


def train(
    rows: pd.DataFrame,
    parameters: Parameters,
    masks: Parameters,
    data: DeviceData,
    bcq: BcqSettings,
    steps: StepSettings,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
    checkpoint: Checkpoint,
    stop: StopRequest,
) -> TrainedStack:
    """Train and score K runs of one task side by side.

    `rows` names the runs (task, method, sparsity_percent, seed), in the order of the leading
    dimension of `parameters` and `masks` (empty masks: all dense). A run's result does not
    depend, but for rounding, on the runs beside it. Raises `Stopped` after saving when `stop`
    asks. A run that diverges (`DivergedRuns`) has no scores and losses from then on; the others
    go on, and DivergedError is raised when none is left. Its weights are those of the last
    checkpoint before, and so, alone of all results, depend on when a job was stopped.
    """
    task = str(rows["task"].iloc[0])
    seeds = [int(seed) for seed in rows["seed"]]
    device = data.rewards.device
    learner = Learner(parameters, masks, bcq, steps, only_vae="BCQ" not in training.algorithms)
    draws = Draws(
        seeds,
        len(data),
        data.actions.shape[1],
        steps.batch,
        bcq.target_samples,
        device,
        data.rewards.dtype,
    )
    update = 0
    scores: list[dict[Any, Any]] = []
    losses: list[dict[str, Any]] = []
    summed = torch.zeros(len(learner.networks), len(seeds), device=device)

    stored = checkpoint.load(device)
    if stored is not None:
        update, scores, losses = stored["update"], stored["scores"], stored["losses"]
        learner.restore(stored["learner"])
        learner.portion.size = stored["portion"]
        summed.copy_(stored["summed"])
        logger.info("resuming at update %d of %d", update, training.updates)
    diverged = DivergedRuns(rows, learner, checkpoint)
    diverged.seen = {} if stored is None else stored["diverged"]

    def look() -> None:
        first = _first_means(learner, losses, device)
        diverged.look(summed / max(1, update - _last(losses)), first, update)

    def save() -> None:
        checkpoint.save(
            {
                "update": update,
                "scores": scores,
                "losses": losses,
                "learner": learner.state(),
                "portion": learner.portion.size,
                "summed": summed,
                "diverged": diverged.seen,
            }
        )

    def save_good() -> None:
        look()
        diverged.settle(update)
        save()

    def stop_if_asked() -> None:
        if stop.reason:
            save_good()
            raise Stopped(stop.reason)

    if stored is None:
        save()  # what a run that diverges early goes back to
    step = update_stepper(learner, data, draws, training.precision)
    with Progress(f"{task} x{len(seeds)}", training.updates, "updates", done=update) as progress:
        while True:
            due = update % training.evaluate_every == 0 or update == training.updates
            if update and due and (not losses or losses[-1]["update"] != update):
                look()
                diverged.settle(update)
                stop_if_asked()
                scored = _score(
                    task, seeds, learner, training, evaluation, bcq, stop, update, diverged.seen
                )
                stop_if_asked()
                scores += scored
                summed[:, list(diverged.seen)] = torch.nan
                means = (summed / (update - _last(losses))).tolist()
                names = [f"{network}_loss" for network in learner.networks]
                losses.append({"update": update, **dict(zip(names, means, strict=True))})
                summed.zero_()
                save()
            if update >= training.updates:
                break
            summed += step(update)
            update += 1
            progress.advance()
            if update % POLL == 0:
                look()
                stop_if_asked()
            if update % training.checkpoint_every == 0:
                save_good()
    keys = rows.reset_index(drop=True)
    return TrainedStack(
        arrays={name: value.detach().cpu().numpy() for name, value in learner.parameters.items()},
        scores=_named(pd.DataFrame(scores), keys),
        losses=_named(pd.DataFrame(losses).explode(_loss_columns(losses)), keys),
    )


def _score(
    task: str,
    seeds: list[int],
    learner: Learner,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
    bcq: BcqSettings,
    stop: StopRequest,
    update: int,
    diverged: Collection[int],
) -> list[dict[Any, Any]]:
    """Scores of the networks as they stand, one record a policy, algorithm and episode.

    Episodes of runs that have diverged count no steps and have no outcome.
    """
    records: list[dict[Any, Any]] = []
    for algorithm in training.algorithms:
        frame = evaluate(
            algorithm,
            {name: value.detach() for name, value in learner.parameters.items()},
            seeds,
            task,
            evaluation,
            bcq.phi,
            interrupted=lambda: stop.reason,
        )
        if frame is None:
            return []
        if diverged:
            unscored = frame["policy"].isin(diverged)
            frame.loc[unscored, ["return", "score_normalised"]] = math.nan
            frame.loc[unscored, "steps"] = 0
        means = frame.groupby("policy")["score_normalised"].mean()
        logger.info(
            "update %d: %s scores %s", update, algorithm, " ".join(f"{mean:.1f}" for mean in means)
        )
        records += frame.assign(algorithm=algorithm, update=update).to_dict("records")
    return records


def update_stepper(
    learner: Learner, data: DeviceData, draws: Draws, precision: str
) -> Callable[[int], Tensor]:
    """A function that performs update number u and returns the losses [networks, K]."""
    device = data.rewards.device

    def perform(index: Tensor, noise: Noise) -> Tensor:
        with precision_context(device, precision):
            return torch.stack(list(learner.update(data.batch(index), noise).values())).float()

    if device.type != "cuda":
        return lambda update: perform(*draws.at(update))

    # An update is some 300 small kernels: launched one by one they cost more than they compute.
    # Captured once as a CUDA graph and replayed, they cost one launch. The graph reads its
    # indices and noise from fixed tensors, which each step fills.
    index, noise = draws.at(0)
    index = index.clone()
    noise = Noise(noise.encoder.clone(), noise.target.clone(), noise.actor.clone())
    before = {name: value.clone() for name, value in learner.state().items()}
    warming = torch.cuda.Stream()
    warming.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warming):
        for _ in range(3):
            perform(index, noise)
    torch.cuda.current_stream().wait_stream(warming)
    graph, losses = _recorded(lambda: perform(index, noise), learner.portion)
    learner.restore(before)

    def replay(update: int) -> Tensor:
        drawn_index, drawn_noise = draws.at(update)
        index.copy_(drawn_index)
        for name in ("encoder", "target", "actor"):
            getattr(noise, name).copy_(getattr(drawn_noise, name))
        graph.replay()
        return losses

    return replay


def _recorded(
    update: Callable[[], Tensor], portion: Portion
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


def _last(losses: list[dict[str, Any]]) -> int:
    """The update of the last row of losses."""
    return losses[-1]["update"] if losses else 0


def _first_means(
    learner: Learner, losses: list[dict[str, Any]], device: torch.device
) -> Tensor | None:
    """The first row of losses, [networks, K]."""
    if not losses:
        return None
    means = [losses[0][f"{network}_loss"] for network in learner.networks]
    return torch.tensor(means, device=device)


def _loss_columns(losses: list[dict[str, Any]]) -> list[str]:
    return [name for name in losses[0] if name.endswith("_loss")]


def _named(frame: pd.DataFrame, keys: pd.DataFrame) -> pd.DataFrame:
    """Put each run's keys in front of its records."""
    if "policy" not in frame:
        frame = frame.assign(policy=frame.groupby("update").cumcount())
    named = keys.loc[frame["policy"]].reset_index(drop=True)
    return pd.concat([named, frame.drop(columns="policy").reset_index(drop=True)], axis=1)

"""The rule rl_train's work: a stack of runs, from its masks to policies and scores."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from triptych.core.checkpoint import Checkpoint
from triptych.core.stopping import StopRequest
from triptych.rl.acting.evaluation import EvaluationSettings
from triptych.rl.acting.stored_policy import Policies
from triptych.rl.algorithms.networks import MAX_ACTION, initialise
from triptych.rl.algorithms.registry import Widths
from triptych.rl.algorithms.sampling import DeviceData
from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.sweep import keys_of
from triptych.rl.tasks.transitions import read_transitions
from triptych.rl.training.learner import StepSettings
from triptych.rl.training.train import TrainedStack, TrainingSettings, train


def train_stack(
    rows: pd.DataFrame,
    transitions: str | os.PathLike[str],
    masks: Mapping[str, np.ndarray],
    widths: Widths,
    steps: StepSettings,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
    device: torch.device,
    checkpoint: Checkpoint,
    stop: StopRequest,
    scope: str,
) -> TrainedStack:
    """Train a stack of runs from their own initialisations and masks, [K, in, out] by name."""
    stored = read_transitions(transitions)
    data = DeviceData(stored, device, torch.float32)
    sizes = stored.observations.shape[1], stored.actions.shape[1]
    seeds = [int(seed) for seed in rows["seed"]]
    fresh = initialise(widths, *sizes, seeds, type(training.algorithms[0]))
    all_dense = bool((rows["method"] == "dense").all())
    return train(
        rows,
        {name: value.to(device) for name, value in fresh.items()},
        {} if all_dense else {n: torch.as_tensor(mask).to(device) for n, mask in masks.items()},
        data,
        steps,
        training,
        replace(evaluation, validation=stored.validation),
        checkpoint,
        stop,
        scope,
    )


def policies_of(
    rows: pd.DataFrame,
    trained: TrainedStack,
    training: TrainingSettings,
    evaluation: EvaluationSettings,
) -> Policies:
    """The trained networks with all that is needed to let them act."""
    algorithm = training.algorithms[0]
    settings: dict[str, Any] = {"algorithm": algorithm.name, "max_action": MAX_ACTION}
    settings |= algorithm.stored(evaluation.candidates)
    spaces = spaces_of(evaluation.task)
    if spaces.scaled:  # what a policy gives lies in [-1, 1], and stands for these bounds
        settings |= {"action_low": spaces.low.tolist(), "action_high": spaces.high.tolist()}
    return Policies(trained.arrays, [keys_of(row) for row in rows.to_dict("records")], settings)

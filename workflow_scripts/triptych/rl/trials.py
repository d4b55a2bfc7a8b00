"""The offline-RL study's training step at a config's sizes, on made-up transitions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import torch

from triptych.core.device import choose_precision
from triptych.core.divergence import DivergedError, all_finite
from triptych.core.trial import Trial
from triptych.rl.algorithms.registry import ALGORITHMS
from triptych.rl.bench import random_data
from triptych.rl.cost import UPDATE, stack_work
from triptych.rl.learner import Learner, StepSettings
from triptych.rl.networks import Parameters, Widths, initialise
from triptych.rl.sampling import Draws
from triptych.rl.sweep import STACK, algorithms_of, runs_of
from triptych.rl.tasks import ASSUMED, SIZES
from triptych.rl.training import update_stepper


def update_trials(config: Mapping[str, Any], device: torch.device) -> Iterator[Trial]:
    """An update of the first stack of each sweep. config: the section `rl`."""
    every = runs_of(config)
    trained = every[every["trained"]]
    for _, first in trained.drop_duplicates("sweep").iterrows():
        yield _update(config, trained[(trained[STACK] == first[STACK]).all(axis=1)], device)


def _update(config: Mapping[str, Any], runs: pd.DataFrame, device: torch.device) -> Trial:
    first = runs.iloc[0]
    name, table = next(iter(algorithms_of(config, first["stack"]).items()))
    algorithm = ALGORITHMS[name].from_table(table)
    task, sizes_of = str(first["task"]), config["widths"][first["networks"]]
    widths = Widths.from_table(sizes_of)
    training = config["training"]
    steps = StepSettings(
        **{name: training[name] for name in ("batch", "learning_rate", "schedule", "tau")}
    )
    seeds, sparsities = runs["seed"].tolist(), runs["sparsity_percent"].tolist()
    sizes = SIZES.get(task, ASSUMED)
    fresh = initialise(widths, *sizes, seeds, type(algorithm))
    parameters = {name: value.to(device) for name, value in fresh.items()}
    masks = _masks(fresh, sparsities, device)
    learner = Learner(parameters, masks, algorithm, steps)
    data = random_data(task, device)
    drawn = len(data), sizes[1], steps.batch, algorithm
    draws = Draws(seeds, *drawn, device, torch.float32)
    precision = choose_precision(training["precision"], device, "unscaled")
    return Trial(
        UPDATE,
        f"{len(runs)} networks, batch {steps.batch}",
        precision,
        update_stepper(learner, data, draws, precision),
        lambda: stack_work(algorithm, sizes_of, task, steps.batch, True, len(runs)),
        lambda: _check(learner),
    )


def _masks(parameters: Parameters, sparsities: list[int], device: torch.device) -> Parameters:
    """For each network of the stack random masks of its sparsity: where zeros lie costs nothing."""
    generator = torch.Generator().manual_seed(0)
    kept = 1 - torch.tensor(sparsities)[:, None, None] / 100
    return {
        name: (torch.rand(value.shape, generator=generator) < kept).to(device)
        for name, value in parameters.items()
        if name.endswith(".weight")
    }


def _check(learner: Learner) -> None:
    if not all_finite(learner.parameters.values()):
        raise DivergedError("a network's weights are not finite")


TRIALS: dict[str, Callable[[Mapping[str, Any], torch.device], Iterator[Trial]]] = {
    "update": update_trials
}

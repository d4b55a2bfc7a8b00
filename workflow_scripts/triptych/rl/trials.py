"""The offline-RL study's training step at a config's sizes, on made-up transitions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from triptych.core.device import choose_precision
from triptych.core.divergence import DivergedError, all_finite
from triptych.core.trial import Trial
from triptych.rl.bcq import BcqSettings, Learner, StepSettings
from triptych.rl.bench import random_data
from triptych.rl.cost import UPDATE, stack_work
from triptych.rl.networks import Parameters, Widths, initialise
from triptych.rl.sampling import Draws
from triptych.rl.sweep import STACK, algorithms_of, runs_of
from triptych.rl.tasks import ASSUMED, SIZES
from triptych.rl.training import update_stepper


def update_trials(config: Mapping[str, Any], device: torch.device) -> Iterator[Trial]:
    """An update of the first stack that is trained, of BCQ if any is. config: the section `rl`."""
    table = runs_of(config)
    trained = table[table["trained"]]
    stacks = [row for _, row in trained.drop_duplicates(STACK).iterrows()]
    algorithms = {row["stack"]: algorithms_of(config, row["stack"]) for row in stacks}
    first = max(stacks, key=lambda row: "BCQ" in algorithms[row["stack"]])
    runs = trained[(trained[STACK] == first[STACK]).all(axis=1)]
    only_vae = "BCQ" not in algorithms[first["stack"]]
    task, sizes_of = str(first["task"]), config["widths"][first["networks"]]
    widths = Widths.from_table(sizes_of)
    bcq, training = BcqSettings.from_table(config["bcq"]), config["training"]
    steps = StepSettings(
        **{name: training[name] for name in ("batch", "learning_rate", "schedule", "tau")}
    )
    seeds, sparsities = runs["seed"].tolist(), runs["sparsity_percent"].tolist()
    sizes = SIZES.get(task, ASSUMED)
    fresh = initialise(widths, *sizes, seeds)
    parameters = {name: value.to(device) for name, value in fresh.items()}
    masks = _masks(fresh, sparsities, device)
    learner = Learner(parameters, masks, bcq, steps, only_vae)
    data = random_data(task, device)
    drawn = len(data), sizes[1], steps.batch, bcq.target_samples
    draws = Draws(seeds, *drawn, device, torch.float32)
    precision = choose_precision(training["precision"], device, "unscaled")
    yield Trial(
        UPDATE,
        f"{len(runs)} networks, batch {steps.batch}",
        precision,
        update_stepper(learner, data, draws, precision),
        lambda: stack_work(
            sizes_of, task, bcq.target_samples, steps.batch, True, len(runs), only_vae
        ),
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

"""Updates per second: K networks stacked against one network at a time as the reference trains,
and networks pruned to 95% that train with their kept weights alone against their dense twins."""

import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
import torch

from benchmarks.rl.plain import PlainBCQ
from benchmarks.worker import ratios, synchronise
from triptych.core.device import describe_device
from triptych.core.memory import keep_freed_memory
from triptych.rl.algorithms.bc import Bc
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import Batch, Noise
from triptych.rl.pruning.stack import prune
from triptych.rl.tasks.sweep import DEFAULT
from triptych.rl.tasks.task import SIZES
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import Learner, StepSettings, update_stepper

logger = logging.getLogger(__name__)

PLAIN = "one network at a time"
STACKED = "stacked"
PRUNED = "pruned"
SPARSITY = 95.0
BCQ, BC = Bcq.name, Bc.name
ALGORITHMS = {
    kind.name: kind(discount=0.99, phi=0.05, lmbda=0.75, target_samples=10) for kind in (Bcq, Bc)
}
STEPS = StepSettings(batch=100, learning_rate=1e-3, tau=0.005)
"""The reference's own values, whatever the scale of the run."""
PAPER_WIDTHS = Widths(actor=(400, 300), critic=(400, 300), vae=750)
ASSUMED = (105, 8)
"""Ant's sizes, of a task of one's own."""
TRANSITIONS = 20_000
"""Rows of the made-up data set: its values don't change what an update costs."""


@dataclass(frozen=True)
class Kind:
    """One thing that is measured: a row of the table."""

    compared: str
    algorithm: str
    networks: int
    precision: str = "float32"

    @property
    def base(self) -> "Kind":
        """What it is compared with: the plain loop, or of pruned networks the dense ones."""
        if self.compared == PRUNED:
            return replace(self, compared=STACKED)
        return self if self.algorithm == BC else Kind(PLAIN, BCQ, 1)


def bench(
    task: str,
    stacks: Sequence[int],
    precisions: Sequence[str],
    pruned: Sequence[int],
    seconds: float,
    rounds: int,
    device: torch.device,
) -> pd.DataFrame:
    """Measure all kinds in turn, `rounds` times, each for `seconds`, and compare within a round.

    Networks and batches have the reference's sizes, in every scale. stacks: sizes K of BCQ's, in
    each of the precisions. pruned: those of BCQ's and BC's that are pruned by SNIP, beside as many
    dense ones, all in float32.

    Columns: compared, algorithm, networks (K), device, precision, threads, updates_per_second
    (network-updates, the median over rounds), ratio, ratio_minimum, ratio_maximum (to `Kind.base`
    in the same round). The data are random: the cost of an update does not depend on them.
    """
    if device.type == "cpu":
        keep_freed_memory()  # as trainings do
    data = random_data(task, device)
    sizes = SIZES.get(task, ASSUMED)
    plain = PlainBCQ(*sizes, PAPER_WIDTHS, ALGORITHMS[BCQ], STEPS).to(device)
    alone = Draws([0], data, STEPS.batch, ALGORITHMS[BCQ])
    steps: dict[Kind, Callable[[int], object]] = {
        Kind(PLAIN, BCQ, 1): lambda update: plain.update(*_single(data, alone, update))
    }
    kinds = [Kind(STACKED, BCQ, k, precision) for precision in precisions for k in stacks]
    for name in (BCQ, BC):
        kinds += [Kind(compared, name, k) for compared in (STACKED, PRUNED) for k in pruned]
    for kind in dict.fromkeys(kinds):
        steps[kind] = _stepper(kind, task, data, device)
    measured: dict[Kind, list[float]] = {kind: [] for kind in steps}
    for _ in range(rounds):
        for kind, step in steps.items():
            measured[kind].append(kind.networks * _steps_per_second(step, seconds, device))
    records = []
    for kind, rates in measured.items():
        records.append(
            {
                **asdict(kind),
                "device": describe_device(device),
                "threads": torch.get_num_threads(),
                "updates_per_second": round(statistics.median(rates), 2),
                **ratios(rates, measured[kind.base]),
            }
        )
        logger.info("%s", records[-1])
    return pd.DataFrame(records)


def _stepper(
    kind: Kind, task: str, data: DeviceData, device: torch.device
) -> Callable[[int], object]:
    """A function that performs an update of a kind's networks."""
    algorithm, seeds = ALGORITHMS[kind.algorithm], list(range(kind.networks))
    about = {"task": task, "observations": "raw", "method": "snip", "pruning": DEFAULT}
    rows = pd.DataFrame([{**about, "sparsity_percent": SPARSITY, "seed": seed} for seed in seeds])
    sparse: Sequence[int] = ()
    if kind.compared == PRUNED:
        sparse, pruning = seeds, {DEFAULT: {"snip_batch": STEPS.batch, "iterations": 1}}
        parameters, masks = prune(rows, PAPER_WIDTHS, pruning, data, algorithm)
    else:
        sizes = data.observations.shape[1], data.actions.shape[1]
        fresh = type(algorithm).initialise(PAPER_WIDTHS, *sizes, seeds)
        parameters, masks = {name: value.to(device) for name, value in fresh.items()}, {}
    learner = Learner(parameters, masks, algorithm, STEPS, sparse=sparse)
    return update_stepper(learner, data, Draws(seeds, data, STEPS.batch, algorithm), kind.precision)


def _steps_per_second(step: Callable[[int], object], seconds: float, device: torch.device) -> float:
    for update in range(2):
        step(update)
    synchronise(device)
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        step(steps)
        steps += 1
        if steps % 10 == 0:
            synchronise(
                device
            )  # else a GPU's queue would take steps for done that are only launched
    synchronise(device)
    return steps / (time.perf_counter() - began)


def _single(data: DeviceData, draws: Draws, update: int) -> tuple[Batch, Noise]:
    index, noise = draws.at(update)
    batch = data.batch(index[0])
    return batch, {name: each[0] for name, each in noise.items()}


def random_data(task: str, device: torch.device) -> DeviceData:
    """Made-up transitions of the task's sizes, on the device."""
    observation_size, action_size = SIZES.get(task, ASSUMED)
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal((TRANSITIONS, *shape), dtype=np.float32)

    return DeviceData(
        Transitions(
            observations=normal(observation_size),
            actions=np.tanh(normal(action_size)),
            rewards=normal(),
            next_observations=normal(observation_size),
            terminals=np.zeros(TRANSITIONS, np.float32),
        ),
        device,
        torch.float32,
    )

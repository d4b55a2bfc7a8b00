"""Updates per second: K networks stacked against one network at a time as the reference trains."""

import logging
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch

from benchmarks.rl.plain import PlainBCQ
from benchmarks.worker import ratios, synchronise
from triptych.core.device import describe_device
from triptych.rl.algorithms.networks import PAPER_WIDTHS, Batch, Noise, initialise
from triptych.rl.algorithms.registry import Bcq
from triptych.rl.algorithms.sampling import DeviceData, Draws
from triptych.rl.tasks.task import ASSUMED, SIZES
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import Learner, StepSettings
from triptych.rl.training.train import update_stepper

logger = logging.getLogger(__name__)

PLAIN = "one network at a time"
STACKED = "stacked"
SETTINGS = Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=10)
STEPS = StepSettings(batch=100, learning_rate=1e-3, tau=0.005)
"""The reference's own values, whatever the scale of the run."""
TRANSITIONS = 20_000
"""Rows of the made-up data set: its values don't change what an update costs."""


def bench(
    task: str,
    stacks: Sequence[int],
    precisions: Sequence[str],
    seconds: float,
    rounds: int,
    device: torch.device,
) -> pd.DataFrame:
    """Measure all kinds in turn, `rounds` times, each for `seconds`, and compare within a round.

    Networks and batches have the reference's sizes, in every scale.

    Columns: compared, networks (K), device, precision, threads, updates_per_second (network-
    updates, the median over rounds), ratio, ratio_minimum, ratio_maximum (to the plain loop of the
    same round). The data are random: the cost of an update does not depend on them.
    """
    data = random_data(task, device)
    observation_size, action_size = SIZES.get(task, ASSUMED)
    kinds: dict[tuple[str, int, str], tuple[int, Callable[[int], object]]] = {}

    def draws_for(k: int) -> Draws:
        return Draws(range(k), data, STEPS.batch, SETTINGS)

    draws = draws_for(1)
    plain = PlainBCQ(observation_size, action_size, PAPER_WIDTHS, SETTINGS, STEPS).to(device)
    kinds[PLAIN, 1, "float32"] = 1, lambda update: plain.update(*_single(data, draws, update))
    for precision in precisions:
        for k in stacks:
            parameters = initialise(PAPER_WIDTHS, observation_size, action_size, range(k))
            on_device = {name: value.to(device) for name, value in parameters.items()}
            learner = Learner(on_device, {}, SETTINGS, STEPS)
            kinds[STACKED, k, precision] = (
                k,
                update_stepper(learner, data, draws_for(k), precision),
            )
    measured: dict[tuple[str, int, str], list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, (k, step) in kinds.items():
            measured[kind].append(k * _steps_per_second(step, seconds, device))
    base = measured[PLAIN, 1, "float32"]
    records = []
    for (compared, k, precision), rates in measured.items():
        records.append(
            {
                "compared": compared,
                "networks": k,
                "device": describe_device(device),
                "precision": precision,
                "threads": torch.get_num_threads(),
                "updates_per_second": round(statistics.median(rates), 2),
                **ratios(rates, base),
            }
        )
        logger.info("%s", records[-1])
    return pd.DataFrame(records)


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

"""Time of an update of one network, dense and with the kept weights only."""

import logging
from collections.abc import Callable
from itertools import count

import pandas as pd
import torch
from torch import Tensor

from triptych.rl.acting.latency import timings
from triptych.rl.algorithms.bc import Bc
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.sampling import DeviceData, Draws
from triptych.rl.networks.stacked import Parameters
from triptych.rl.tasks.transitions import Transitions
from triptych.rl.training.learner import Learner, StepSettings, update_stepper

logger = logging.getLogger(__name__)

STEPS = StepSettings(batch=100, learning_rate=1e-3, tau=0.005)
"""The references' settings."""
DENSE, SPARSE = "torch dense", "torch embedding_bag"
"""Names of the kernels; sparse products are weighted sums of rows (networks/sparse.py)."""


def update_times(
    initial: Parameters,
    masks: Parameters,
    seed: int,
    bcq: Bcq,
    stored: Transitions,
    repeats: int,
) -> pd.DataFrame:
    """Microseconds of an update of BC and of BCQ in float32, in the columns of `latency_table`.

    initial, masks: of one run with this seed, [1, in, out] by name; the dense kernel trains the
    run's dense twin. maximum_difference: of the first update's losses from those of masked dense
    networks in float64.
    """
    device, records = torch.device("cpu"), []
    data = DeviceData(stored, device, torch.float32)
    exact = DeviceData(stored, device, torch.float64)
    for algorithm in (Bc(**vars(bcq)), bcq):

        def stepper(
            parameters: Parameters,
            kept_masks: Parameters,
            training_data: DeviceData,
            sparse: tuple[int, ...] = (),
            trained: Bcq = algorithm,
        ) -> Callable[[int], Tensor]:
            learner = Learner(parameters, kept_masks, trained, STEPS, sparse=sparse)
            return update_stepper(
                learner,
                training_data,
                Draws([seed], training_data, STEPS.batch, trained),
                "float32",
            )

        doubled = {name: value.double() for name, value in initial.items()}
        dense, sparse = stepper(initial, {}, data), stepper(initial, masks, data, sparse=(0,))
        difference = float((stepper(doubled, masks, exact)(0) - sparse(0)).abs().max())
        dense(0)  # as warm as the other

        def updates(step: Callable[[int], Tensor]) -> list[Callable[[], object]]:
            numbers = count(1)
            return [lambda: step(next(numbers))]

        calls = {DENSE: updates(dense), SPARSE: updates(sparse)}
        about = {"part": f"{algorithm.name} update", "batch": STEPS.batch, "candidates": 1}
        for kernel, timing in timings(calls, repeats).items():
            of_kernel = difference if kernel == SPARSE else 0.0
            records.append({**about, "kernel": kernel, **timing, "maximum_difference": of_kernel})
        logger.info("timed updates of %s", algorithm.name)
    return pd.DataFrame(records)

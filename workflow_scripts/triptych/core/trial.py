"""A step of a study's training, timed at its true sizes on inputs that are made up."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from triptych.core.cost import Work
from triptych.core.divergence import DivergedError
from triptych.core.memory import peak_memory

TOGETHER = 10
"""Calls between two looks at a GPU's queue, which would take for done what is only launched."""


@dataclass(frozen=True)
class Trial:
    """What is timed, and what one call of it amounts to.

    kind: the step's name, by which `plan` knows it (`Cost.step`)
    size: in words, for a table
    call: takes the number of the call, from 0
    work: of one call, as `plan` counts it
    check: raises where what the calls made isn't finite
    """

    kind: str
    size: str
    precision: str
    call: Callable[[int], object]
    work: Callable[[], Work]
    check: Callable[[], None]


def measure(trial: Trial, seconds: float, device: torch.device) -> dict[str, Any]:
    """Call for so many seconds, after three calls that don't count.

    On one thread of a processor the seconds are those of the core, whatever else runs on it.
    Keys: task, size, precision, seconds (of a call, the mean), per_second, calls, peak_bytes (of
    tensors on a GPU, of the process elsewhere), operations, traffic and kernels (`Work`).
    """
    on_gpu = device.type == "cuda"
    alone = not on_gpu and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    for number in range(3):
        trial.call(number)
    synchronise(device)
    began, calls = clock(), 0
    while not calls or clock() - began < seconds:
        trial.call(3 + calls)
        calls += 1
        if calls % TOGETHER == 0:
            synchronise(device)
    synchronise(device)
    each = (clock() - began) / calls
    trial.check()
    peak = torch.cuda.max_memory_allocated(device) if on_gpu else peak_memory()
    work = trial.work()
    return {
        "task": trial.kind,
        "size": trial.size,
        "precision": trial.precision,
        "seconds": each,
        "per_second": 1 / each,
        "calls": calls,
        "peak_bytes": peak,
        "operations": work.operations,
        "traffic": work.traffic,
        "kernels": work.kernels,
    }


def synchronise(device: torch.device) -> None:
    """Wait until a GPU has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def refuse(trouble: str) -> None:
    """Raise DivergedError with what is wrong; nothing where that is ""."""
    if trouble:
        raise DivergedError(trouble)

"""The machines for which a plan says how long it takes: with GPUs, or cores alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from triptych.core.cost import Processor
from triptych.plan.calibration import cores
from triptych.plan.dry_run import parents
from triptych.plan.planned import Plan
from triptych.plan.schedule import Task, makespan

LINE = 50e6
"""Bytes a second of the line that downloads share: assumed."""
START = 5.0
"""Seconds that a job takes to begin and end: measured, where it imports PyTorch."""
BESIDE = 8
"""Cores beside each GPU: assumed."""
GPU_COUNTS, CORE_COUNTS = (1, 8), (2, 8, 16)


@dataclass(frozen=True)
class Machine:
    """processor: one of its GPUs, or where it has none, one of its cores."""

    name: str
    processor: Processor
    gpus: int
    cores: int


def machines_with(gpu: Processor) -> list[Machine]:
    """Those with one GPU of a kind, and several."""
    return [
        Machine(f"{count} x {gpu.name}, {BESIDE * count} cores", gpu, count, BESIDE * count)
        for count in GPU_COUNTS
    ]


def machines_of(core: Processor) -> list[Machine]:
    """Those of so many cores, and no GPU."""
    return [Machine(f"{count} cores ({core.name})", core, 0, count) for count in CORE_COUNTS]


def seconds_on(
    plan: Plan, machine: Machine, measured: Mapping[int, float], downloads: bool = True
) -> float:
    """From the first job to the last. measured: seconds of jobs that ran on its GPU, by number."""
    before = parents(plan.jobs)
    tasks = [
        _task(plan, number, machine, measured, before[number], downloads)
        for number in range(len(plan.jobs))
    ]
    return makespan(tasks, machine.gpus, machine.cores)


def _task(
    plan: Plan,
    number: int,
    machine: Machine,
    measured: Mapping[int, float],
    before: set[int],
    downloads: bool,
) -> Task:
    job, cost = plan.jobs[number], plan.costs[number]
    fetching, processor, taken = cost.download > 0, machine.processor, cost.cores
    if not machine.gpus:
        taken = min(max(job.threads, cost.cores), machine.cores)
        cost, processor = replace(cost, cores=min(cost.cores, taken)), cores(processor, taken)
    seconds = measured.get(number, cost.seconds(processor, LINE))
    if fetching and not downloads:
        seconds = 0.0
    line = fetching and downloads and not cost.waits
    return Task(START + seconds, job.gpus, taken, line, frozenset(before))

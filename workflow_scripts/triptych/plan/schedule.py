"""How long all jobs take on a machine: each starts as soon as its inputs and its room are there."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A job's seconds and what it keeps busy; `line`: it downloads, and the line is one."""

    seconds: float
    gpus: int
    cores: int
    line: bool
    parents: frozenset[int]


def longest_chain(tasks: Sequence[Task]) -> list[float]:
    """For each task the seconds from its start to the end of the longest chain that it begins."""
    children: list[list[int]] = [[] for _ in tasks]
    for number, task in enumerate(tasks):
        for parent in task.parents:
            children[parent].append(number)
    lengths: dict[int, float] = {}
    for first in range(len(tasks)):
        waiting = [first]
        while waiting:
            number = waiting[-1]
            open_ = [child for child in children[number] if child not in lengths]
            if open_:
                waiting += open_
                continue
            waiting.pop()
            after = max((lengths[child] for child in children[number]), default=0.0)
            lengths[number] = tasks[number].seconds + after
    return [lengths[number] for number in range(len(tasks))]


def makespan(tasks: Sequence[Task], gpus: int, cores: int) -> float:
    """Seconds to the end of the last task; of those that may start, the longest chain's first."""
    chain = longest_chain(tasks)
    order = sorted(range(len(tasks)), key=lambda number: (-chain[number], number))
    left = {number: set(task.parents) for number, task in enumerate(tasks)}
    running: list[tuple[float, int]] = []
    waiting, room = order, {"gpus": gpus, "cores": cores, "line": 1}
    now = 0.0
    while waiting or running:
        for number in list(waiting):
            needs = _needs(tasks[number], gpus, cores)
            if not left[number] and all(room[kind] >= need for kind, need in needs.items()):
                for kind, need in needs.items():
                    room[kind] -= need
                heapq.heappush(running, (now + tasks[number].seconds, number))
                waiting.remove(number)
        now, ended = heapq.heappop(running)
        for kind, need in _needs(tasks[ended], gpus, cores).items():
            room[kind] += need
        for parents in left.values():
            parents.discard(ended)
    return now


def _needs(task: Task, gpus: int, cores: int) -> dict[str, int]:
    return {
        "gpus": min(task.gpus, gpus),
        "cores": min(task.cores, cores),
        "line": int(task.line),
    }

"""What jobs ask a scheduler for: minutes and megabytes, a margin times what is planned.

Locally nothing of this is enforced, unless you give a limit such as --resources mem_mb=16000. The
plan is that of a slow machine, so that a cluster's is no slower; a job that still asks for too
little is stopped, resumes from its checkpoint, and asks for more at its next attempt.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from triptych.core.cost import GPUS, Cost, Processor, slow_cores
from triptych.plan.measured import Row, calibrated
from triptych.plan.planned import cost_of
from triptych.studies import NAMES

SLOW_GPU = "a40"
LINE = 5e6
"""Bytes a second of a slow line."""
START_MINUTES = 10
"""Beside what is planned: a slow file system, imports, files that are written last."""
LONGEST = 5760
"""Minutes; four days, about as long as clusters let a job run."""
BASE_MB, CUDA_MB = 2000, 3000
"""Of a process with PyTorch, and of CUDA's libraries in it."""


class Requests:
    """`runtime` and `mem_mb` of every rule, as Snakemake calls them: more at each new attempt.

    measured: rows of resources/measured.csv. A step for which any GPU took longer than computed is
    taken to be as much slower on the slow one.
    """

    def __init__(
        self, config: Mapping[str, Any], sources: Mapping[str, Any], measured: Iterable[Row] = ()
    ) -> None:
        self._margin: float = config["requests_margin"]
        self._slow_gpu = _slow_gpu(calibrated(measured)) if config["device"] == "cuda" else None
        # Asked for again and again while Snakemake plans, and the same each time.
        self._cost = cache(lambda rule, wildcards: cost_of(config, sources, rule, dict(wildcards)))

    @property
    def resources(self) -> dict[str, Callable[..., int]]:
        """What stands under `resources` of a rule."""
        return {"mem_mb": self.megabytes, "runtime": self.minutes}

    def cost(self, wildcards: Any, rulename: str) -> Cost:
        """What a job costs."""
        found: Cost = self._cost(_own_name(rulename), tuple(sorted(wildcards.items())))
        return found

    def planned_minutes(self, wildcards: Any, threads: int, rulename: str) -> float:
        """From its start to its end on the slow machine that the config's `device` names."""
        cost = self.cost(wildcards, rulename)
        cost = replace(cost, cores=min(cost.cores, threads))
        return cost.seconds(self._slow_gpu or slow_cores(threads), LINE) / 60

    def minutes(self, wildcards: Any, attempt: int, threads: int, rulename: str) -> int:
        """`runtime`: at most LONGEST."""
        planned = self.planned_minutes(wildcards, threads, rulename)
        return min(round(START_MINUTES + self._margin * planned) * attempt, LONGEST)

    def megabytes(self, wildcards: Any, attempt: int, rulename: str) -> int:
        """`mem_mb`."""
        cost, base = self.cost(wildcards, rulename), BASE_MB
        needed = cost.memory
        if self._slow_gpu is None:
            needed += cost.tensors
        elif cost.work:
            base += CUDA_MB
        return round(base + self._margin * needed / 1e6) * attempt


def _own_name(rule: str) -> str:
    """A rule's name here, whatever a workflow that uses it puts before it (`as other_*`)."""
    own = f"(?:{'|'.join(NAMES)})_"
    return re.sub(f"^(?!{own}).+?_(?={own})", "", rule)


def _slow_gpu(gpus: Mapping[str, Processor]) -> Processor:
    factors: dict[tuple[str, str], float] = {}
    for gpu in gpus.values():
        for step, factor in gpu.factors.items():
            factors[step] = max(factors.get(step, 1.0), factor)
    return replace(GPUS[SLOW_GPU], factors=factors)

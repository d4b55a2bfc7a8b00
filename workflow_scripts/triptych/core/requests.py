"""What jobs ask a scheduler for: minutes and megabytes, counted from what they do.

Locally nothing of this is enforced, unless you give a limit such as --resources mem_mb=16000. The
formulas are simple and generous: a job that asks for too much waits, one that asks for too little
is stopped, resumes from its checkpoint, and asks for more at its next attempt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Needed = float | Callable[[Any], float]
"""A number, or a function of a job's wildcards."""

GPU_SPEED = {"float32": 1e13, "tf32": 2e13, "bf16": 2.5e13, "fp16": 2.5e13, "auto": 2e13}
"""Operations a second that a slow GPU sustains. An A40 did 25e12 of PaSST's in half precision;
`auto` stands for TF32, the slowest that it chooses on a GPU of 2020 or later."""
CORE_SPEED = 2e10
"""Of a core: two of the demo's machine did 1e11 of the stacked networks'."""
DOWNLOAD_SPEED = 5e6  # bytes a second
LONGEST = 5760  # minutes; four days, about as long as clusters let a job run


def megabytes(needed: Needed) -> Callable[[Any, int], int]:
    """`mem_mb` of a rule, as Snakemake calls it: more at each new attempt."""

    def mem_mb(wildcards: Any, attempt: int) -> int:
        return round(needed(wildcards) if callable(needed) else needed) * attempt

    return mem_mb


def minutes(needed: Needed) -> Callable[[Any, int], int]:
    """`runtime` of a rule, as Snakemake calls it: more at each new attempt, at most LONGEST."""

    def runtime(wildcards: Any, attempt: int) -> int:
        one = needed(wildcards) if callable(needed) else needed
        return min(round(one) * attempt, LONGEST)

    return runtime


def downloading(size: float) -> float:
    """Minutes for so many bytes."""
    return 30 + size / DOWNLOAD_SPEED / 60


@dataclass(frozen=True)
class Machine:
    """What a job computes on: so many GPUs, or processor cores alone."""

    gpus: int

    @property
    def base(self) -> int:
        """Megabytes of PyTorch, and of CUDA's libraries."""
        return 3000 + (3000 if self.gpus else 0)

    def computing(
        self, operations: float, precision: str = "float32", threads: int = 1, gpus: int = 1
    ) -> float:
        """Minutes for so many operations: twice what a slow processor takes, and 30 for all else.

        gpus: how many compute at once, where there are any.
        """
        speed = GPU_SPEED[precision] * gpus if self.gpus else CORE_SPEED * threads
        return 30 + 2 * operations / speed / 60

    def activations(self, floats: float) -> float:
        """Megabytes of so many float32, where they are in the job's memory and not a GPU's."""
        return 0 if self.gpus else 4e-6 * floats

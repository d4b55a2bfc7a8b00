"""What every bench needs: a process that is asked and answers in JSON, clocks and ratios."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from triptych.core.memory import keep_freed_memory, peak_memory

ROOT = Path(__file__).resolve().parents[1]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "workflow_scripts")])
"""Where a side finds this package, and the library of this checkout."""


class Worker:
    """Runs `python -m module arguments...` with so many threads; to be used in a `with` block."""

    def __init__(self, module: str, *arguments: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": PATH},
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def ask(self, task: Any) -> Any:
        """The answer to a task; both are whatever JSON holds. Raises RuntimeError if none comes."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker ended while it ran {task}")
        return json.loads(answer)


def ratios(plain: Sequence[float], ours: Sequence[float], name: str = "ratio") -> dict[str, float]:
    """Seconds of plain code over ours, each within a round: median, minimum and maximum."""
    found = [base / own for base, own in zip(plain, ours, strict=True)]
    chosen = (("", statistics.median(found)), ("_minimum", min(found)), ("_maximum", max(found)))
    return {f"{name}{suffix}": round(value, 3) for suffix, value in chosen}


def seconds_of(call: Callable[[], object], device: torch.device) -> float:
    """How long a call takes, what it launched on a GPU included."""
    synchronise(device)
    began = time.perf_counter()
    call()
    synchronise(device)
    return time.perf_counter() - began


def synchronise(device: torch.device) -> None:
    """Wait for what was launched on a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def answer_tasks(side: Any, device: torch.device, unwarmed: Collection[str], ours: bool) -> None:
    """Answer the tasks of standard input, a line of JSON each, until it ends.

    A task is [name, arguments...] of a method of `side` that returns the call to be timed. Its
    answer holds the seconds, those of the first call before (a compiled side compiles in it; none
    for names in `unwarmed`) and the peak of memory; or, as "trouble", why it cannot be compiled.
    The sides are processes of their own since ours tells the C library to keep freed memory, which
    would speed up the plain ones too.
    """
    if ours and device.type == "cpu":
        keep_freed_memory()
    ready: str = ""
    call: Any = None
    first: float | None = None
    for line in sys.stdin:
        name, *given = json.loads(line)
        try:
            if line != ready:
                ready, call, first = "", None, None  # one task's tensors at a time
                torch.manual_seed(0)
                call = getattr(side, name)(*given)
                if side.compiled or name not in unwarmed:
                    first = seconds_of(call, device)
                ready = line
            cuda = device.type == "cuda"
            took = seconds_of(call, device)
            peak = torch.cuda.max_memory_allocated() if cuda else peak_memory()
            answer: dict[str, Any] = {"seconds": took, "first_seconds": first, "peak_bytes": peak}
        except Exception as problem:  # PyTorch's compiler wraps what it meets in many ways
            if not side.compiled:
                raise
            said = [each.strip() for each in str(problem).splitlines() if each.strip()]
            answer = {"trouble": said[0] if said else type(problem).__name__}
        print(json.dumps(answer), flush=True)

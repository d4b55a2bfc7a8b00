"""What every bench needs: a process that is asked and answers in JSON, clocks and ratios."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

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

"""One side of the bench, in a process of its own: `python -m` this module, and the side.

The sides are kept apart since ours tells the C library to keep freed memory, which would speed up
the plain ones too. Reads a line of JSON a task, [name, size, width, repeats], from standard
input and answers each with a line: the seconds of each repeat and of the first call before them
(a compiled side compiles in it), and the peak of memory; or, as "trouble", why it cannot compile.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.style.inputs import DEVICE
from benchmarks.style.ours import Ours
from benchmarks.style.plain_sides import Plain
from benchmarks.worker import seconds_of
from triptych.core.memory import keep_freed_memory, peak_memory

SIDES: dict[str, Plain | Ours] = {
    "plain": Plain(compiled=False, bf16=False),
    "compiled": Plain(compiled=True, bf16=False),
    "plain bf16": Plain(compiled=False, bf16=True),
    "compiled bf16": Plain(compiled=True, bf16=True),
    "float32": Ours("float32"),
    "bf16": Ours("bf16"),
}


def main(name: str) -> None:
    """Answer the tasks of standard input until it ends."""
    side = SIDES[name]
    if isinstance(side, Ours) and DEVICE.type == "cpu":
        keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        # What an earlier run compiled would make this one's first call look quick.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        bench = Bench(side)
        for line in sys.stdin:
            print(json.dumps(bench.answer(*json.loads(line))), flush=True)


class Bench:
    """Tasks of a side; one is kept, with its tensors, for as long as it is asked for."""

    def __init__(self, side: Plain | Ours) -> None:
        self._side = side
        self._key: tuple[str, int, int] | None = None
        self._call: Callable[[], object] = lambda: None
        self._first: float | None = None

    def answer(self, name: str, size: int, width: int, repeats: int) -> dict[str, Any]:
        """What the task takes."""
        if self._key != (name, size, width):
            try:
                self._begin(name, size, width)
            except Exception as problem:  # PyTorch's compiler wraps what it meets in many ways
                if not (isinstance(self._side, Plain) and self._side.compiled):
                    raise
                return {"trouble": _said(problem)}
        seconds = [seconds_of(self._call, DEVICE) for _ in range(repeats)]
        peak = peak_memory()
        if DEVICE.type == "cuda":
            peak = torch.cuda.max_memory_allocated()
        return {"seconds": seconds, "first_seconds": self._first, "peak_bytes": peak}

    def _begin(self, name: str, size: int, width: int) -> None:
        self._key, self._call, self._first = None, lambda: None, None
        self._call = getattr(self._side, name)(size, width)
        if name != "image" and (name != "large" or DEVICE.type == "cuda"):
            self._first = seconds_of(self._call, DEVICE)
        self._key = (name, size, width)


def _said(problem: Exception) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0] if lines else type(problem).__name__


if __name__ == "__main__":
    main(sys.argv[1])

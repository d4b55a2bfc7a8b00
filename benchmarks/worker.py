"""A process that is asked and answers, one line of JSON at a time: each side of a bench is one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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

"""A process that is asked and answers, one line of JSON at a time: each side of a bench is one."""

import json
import os
import subprocess
import sys
from typing import Any

from triptych.core.provenance import python_path


class Worker:
    """Runs `python -m module arguments...` with so many threads; to be used in a `with` block."""

    def __init__(self, module: str, *arguments: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": python_path()},
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

"""A part of `make gpu`: its steps one after the other, each in a process of its own and timed.

What a step has measured is on the disk when the next one begins. A step that fails is written down
and the next one goes on; one that hasn't begun when the part's time is spent is written down, too.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.core.imported import python_path
from triptych.plan.records import FAILED, MEASURED, NOT_REACHED, Row, read, write

Config = Mapping[str, Any]

PART_SECONDS = 9 * 60
"""From the moment when make began, the set-up of the environment included."""
START_SECONDS = 90
"""Of a training's limit, for imports, building models and warming up."""


@dataclass(frozen=True)
class Step:
    """name: what `work.py` knows it by;  limit: seconds after which it is ended
    seconds: what each of its trainings is timed for"""

    name: str
    limit: float
    seconds: float = 0.0


def steps_of(part: int, config: Config, seconds: float, on_gpu: bool) -> list[Step]:
    """A part's steps in their order; `seconds` is what most trainings are timed for."""
    if part == 1:
        paper = [Step("bench style paper", 150)] if on_gpu else []
        return [Step("tests", 200), Step("bench rl", 150), *paper]
    if part == 2:
        style = [*config["style"]["bench"]["sizes"], "large"]
        return [
            *(Step(f"bench style {name}", 120) for name in style),
            *(Step(f"bench audio {name}", 120) for name in ("forward", "training")),
        ]
    shares = {"rl update": 1.5, "style training": 1.0, "style closure": 0.3, "style forward": 0.1}
    shares |= {f"audio {pair[0]}": 1.0 for pair in config["audio"]["pairs"]}
    return [
        Step(f"train {name}", START_SECONDS + 2 * max(share, 1) * seconds, share * seconds)
        for name, share in shares.items()
    ]


def run_part(
    part: int,
    steps: Sequence[Step],
    config: Config,
    deadline: float,
    about: Mapping[str, str],
    folder: Path,
) -> list[Row]:
    """Run a part's steps; all rows, which stand in `folder`/part<N>.csv as well.

    deadline: by time.time(), at which no step begins and a running one is ended
    about: device, date, torch and scale, of every row
    """
    rows: list[dict[str, Any]] = []
    common = {**about, "part": str(part)}
    for step in steps:
        began = time.time()
        left = deadline - began
        print(f"part {part}: {step.name}", end=" ", flush=True)
        if left <= 0:
            new = [{"status": NOT_REACHED, "note": "the part's time was spent"}]
        else:
            place = folder / f"part{part}" / step.name.replace(" ", "-")
            new = _run(step, config, min(left, step.limit), place)
        rows += [{"status": MEASURED, **common, "step": step.name, **row} for row in new]
        write(folder / f"part{part}.csv", rows)
        lines = [row["status"] + ": " + row["note"] for row in new if _ended(row)]
        print("; ".join(lines) or f"{time.time() - began:.0f} s", flush=True)
    return read(folder / f"part{part}.csv")


def _ended(row: Mapping[str, Any]) -> bool:
    return row.get("status") in (FAILED, NOT_REACHED) and "study" not in row


def _run(step: Step, config: Config, limit: float, place: Path) -> list[dict[str, Any]]:
    """A step's rows, and one more where it failed. Leaves its output in `place`.rows and .log."""
    place.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "triptych.gpu.work", step.name, str(step.seconds)]
    command.append(json.dumps(config))
    rows_file, log_file = place.with_suffix(".rows"), place.with_suffix(".log")
    with rows_file.open("w") as rows, log_file.open("w") as log:
        # A group of its own, so that what it started ends with it.
        worker = subprocess.Popen(
            command,
            stdout=rows,
            stderr=log,
            env={**os.environ, "PYTHONPATH": python_path()},
            start_new_session=True,
        )
        try:
            worker.wait(limit)
            trouble = f"it ended with {worker.returncode}: " if worker.returncode else ""
        except subprocess.TimeoutExpired:
            whose = "its limit" if limit == step.limit else "when the part's time was spent"
            trouble = f"ended after {limit:.0f} s, {whose}"
        finally:
            _end(worker)
    lines = rows_file.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.endswith("}")]
    if trouble:
        reason = _last_line(log_file) if trouble.endswith(": ") else ""
        found.append({"status": FAILED, "note": trouble + reason})
    return found


def _end(worker: "subprocess.Popen[Any]") -> None:
    """Kill whatever is left of the worker's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _last_line(log: Path) -> str:
    """What an error's traceback ends with, at most 300 characters of it."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return (lines[-1] if lines else "it said nothing")[:300].replace("|", "/")

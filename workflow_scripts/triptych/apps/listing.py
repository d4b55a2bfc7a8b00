"""The jobs of a run, as Snakemake lists them in a process of its own (listed_jobs.py)."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any

from triptych.core.errors import InputError
from triptych.core.job import own_rule

ALL_CORES = 1000
"""Cores of the dry run, more than a machine has: a job with so many threads takes all cores."""


@dataclass(frozen=True)
class Job:
    """A job of the dry run; ALL_CORES threads are all of a machine's. Without outputs: a target
    such as `all`, which runs nothing."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    benchmark: str
    threads: int = 1
    gpu: bool = False
    log: str = ""


def listed_jobs(
    root: Path, *arguments: str, overlays: Sequence[Path] = ()
) -> tuple[list[Job], list[dict[str, Any]]]:
    """The jobs that Snakemake would start with these arguments, and the runs that it has planned.

    Raises InputError with Snakemake's message where it can't build the graph.
    """
    from triptych.core.packages import writable_cache
    from triptych.core.provenance import python_path

    writable_cache("snakemake")  # or Snakemake would fail by a traceback
    command = [sys.executable, "-P", str(Path(__file__).with_name("listed_jobs.py"))]
    with TemporaryDirectory() as folder:
        file = Path(folder, "jobs.json")
        arguments = (str(file), *arguments, "--cores", str(ALL_CORES))
        if overlays:
            arguments += ("--configfile", *(str(overlay.resolve()) for overlay in overlays))
        done = subprocess.run(
            [*command, *arguments],
            cwd=root,
            env={**os.environ, "PYTHONPATH": python_path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise InputError(f"Snakemake can't build the graph:\n{done.stdout.strip()[-2000:]}")
        return read_listing(file)


def read_listing(file: Path) -> tuple[list[Job], list[dict[str, Any]]]:
    """The jobs of a file of listed_jobs.py, and the runs."""
    listed = json.loads(file.read_text(encoding="utf-8"))
    return [_job(about) for about in listed["jobs"]], listed["runs"]


def _job(about: Mapping[str, Any]) -> Job:
    """A job as listed_jobs.py tells it; rules of a module get this repository's names."""
    log = about["log"][0] if about["log"] else ""
    return Job(
        rule=own_rule(log) if log else about["rule_name"],
        inputs=tuple(about["input"]),
        outputs=tuple(about["output"]),
        benchmark=about["benchmark"] or "",
        threads=about["threads"],
        gpu=about["resources"].get("gpu", 0) > 0,
        log=log,
    )


def needs_of(jobs: Sequence[Job]) -> list[set[int]]:
    """Positions of the jobs that make each job's inputs, or a folder with them inside."""
    maker = {file: number for number, job in enumerate(jobs) for file in job.outputs}
    needs = []
    for job in jobs:
        paths = map(PurePosixPath, job.inputs)
        places = {str(place) for path in paths for place in (path, *path.parents)}
        needs.append({maker[place] for place in places if place in maker})
    return needs


ASKS = "report_inputs"
"""The rule that asks for downloads, once more where something lacked."""


def input_problems(root: Path) -> list[str]:
    """Messages of the checks of inputs (results/inputs/*.csv)."""
    found = []
    for path in sorted(root.glob("**/results/inputs/**/*.csv")):
        with path.open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["problem"]]
        for row in rows:
            name = row.get("file") or f"{path.stem}, {row['part']}"
            problem = indent(row["problem"], "  ")
            found.append(f"\n{name}, looked at before anything trained:\n{problem}")
    return found

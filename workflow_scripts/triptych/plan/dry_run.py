"""The jobs of a run, as Snakemake's own dry run tells them, and what the dry run took."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from triptych.core.config import merged
from triptych.core.errors import InputError
from triptych.core.imported import python_path
from triptych.core.source import source_of

ALL_CORES = 1000
"""More than a machine has, so that one sees which jobs take all that there are."""

# Its own memory is what a process knows best, at its end.
CHILD = """\
import atexit
from triptych.core.memory import peak_memory
atexit.register(lambda: print(f"\\npeak memory: {peak_memory()}"))
from snakemake.cli import main
main()
"""


@dataclass(frozen=True)
class Job:
    """One job: files, wildcards and what it asks of a machine; ALL_CORES threads are all of it."""

    rule: str
    wildcards: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    gpus: int
    threads: int = 1


@dataclass(frozen=True)
class DryRun:
    """All jobs, Snakemake's own count of them by rule, and what building their graph took."""

    jobs: list[Job]
    summary: Counter[str]
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def dry_run(root: Path, configfiles: Sequence[Path], everything: bool = True) -> DryRun:
    """Let Snakemake build the graph in `root`, with `everything` what is finished included.

    Raises InputError with Snakemake's message where it can't.
    """
    if not (root / "Snakefile").exists():
        raise InputError(f"there is no Snakefile in {root}: run this in the folder of the workflow")
    command = [sys.executable, "-c", CHILD, "--dry-run", *["--forceall"] * everything]
    command += ["--cores", str(ALL_CORES)]
    if configfiles:
        command += ["--configfile", *(str(file.resolve()) for file in configfiles)]
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": python_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise InputError(f"Snakemake can't build the graph:\n{done.stdout.strip()[-2000:]}")
    peak = re.search(r"^peak memory: (\d+)$", done.stdout, re.MULTILINE)
    assert peak
    return DryRun(
        read_jobs(done.stdout),
        read_summary(done.stdout),
        seconds,
        after.children_user + after.children_system - before.children_user - before.children_system,
        int(peak[1]),
    )


def read_config(root: Path, configfiles: Sequence[Path]) -> dict[str, Any]:
    """The config that Snakemake sees: config.yaml with the others laid over it, in their order."""
    config: dict[str, Any] = {}
    own = filter(Path.exists, [root / "config.yaml"])
    for file in (source_of(root) / "config.yaml", *own, *configfiles):
        config = merged(config, yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    return config


def read_jobs(text: str) -> list[Job]:
    """The jobs of a dry run's output."""
    jobs = []
    for match in re.finditer(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)*)", text, re.MULTILINE):
        lines = (line.strip().partition(": ") for line in match[2].splitlines())
        told = {key: value for key, _, value in lines}
        gpus = re.search(r"\bgpu=(\d+)", told.get("resources", ""))
        wildcards = (each.split("=", 1) for each in _listed(told.get("wildcards", "")))
        jobs.append(
            Job(
                match[1],
                {name: value for name, value in wildcards},
                tuple(_listed(told.get("input", ""))),
                tuple(_listed(told.get("output", ""))),
                told.get("log", ""),
                int(gpus[1]) if gpus else 0,
                int(told.get("threads", 1)),
            )
        )
    return jobs


def read_summary(text: str) -> Counter[str]:
    """Snakemake's table of jobs by rule, without its total."""
    table = text.partition("Job stats:")[2].partition("\n\n")[0]
    counts = Counter({name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", table, re.M)})
    del counts["total"]
    return counts


def parents(jobs: Sequence[Job]) -> list[set[int]]:
    """For each job the numbers of those whose files it reads; a file may lie in a folder."""
    maker = {file: number for number, job in enumerate(jobs) for file in job.outputs}
    found = []
    for job in jobs:
        places = (str(place) for file in job.inputs for place in _within(file))
        found.append({maker[place] for place in places if place in maker})
    return found


def missing(jobs: Sequence[Job], files: dict[str, str]) -> list[str]:
    """The names in `files` whose file no job makes."""
    made = {file for job in jobs for file in job.outputs}
    return [name for name, file in files.items() if file not in made]


def _within(file: str) -> list[PurePosixPath]:
    path = PurePosixPath(file)
    return [path, *path.parents]


def _listed(text: str) -> list[str]:
    return [each for each in text.split(", ") if each]

"""The console command `triptych plan`: what a run of the workflow will take, before it starts.

Snakemake lists the jobs (listed_jobs.py). resources/costs.csv has the cost of a job of each rule at
each scale, measured or estimated.
"""

import argparse
import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from triptych.apps import check_workflow, command
from triptych.apps.listing import ALL_CORES, Job, listed_jobs, needs_of
from triptych.core.errors import InputError, natural, positive

DESCRIPTION = """\
What a run of the workflow will take, before it starts. Snakemake counts the jobs;
resources/costs.csv says what one of each rule takes, measured or estimated. Run it in the folder of
the workflow.
"""

EXAMPLES = """\
examples:
  triptych plan
  triptych plan --configfile config/paper.yaml --cores 64 --gpus 8
  triptych plan --downloads --configfile config/paper.yaml my.yaml
  triptych plan --missing --configfile config/paper.yaml
"""

COSTS = Path("resources") / "costs.csv"
TOTAL = "total"
LINE = 50.0
"""Megabytes a second of the line that downloads share: assumed."""


class PlannedRun(NamedTuple):
    """Jobs of a run, its complete config, the folder of the workflow, the label of its scale."""

    jobs: list[Job]
    config: dict[str, Any]
    source: Path
    scale: str


@dataclass(frozen=True)
class Cost:
    """Cost of a job: core seconds, hours with a GPU, megabytes; and the source of these numbers."""

    core_seconds: float = 0.0
    gpu_hours: float = 0.0
    memory_mb: float = 0.0
    download_mb: float = 0.0
    disk_mb: float = 0.0
    source: str = "unknown"


UNKNOWN = Cost()
NUMBERS = ("core_seconds", "gpu_hours", "memory_mb", "download_mb", "disk_mb")


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "show what a run will take: jobs, hours, memory, downloads, disk, claims"
    parser = command(commands, "plan", _plan, summary, DESCRIPTION, EXAMPLES)
    laid = "laid over config.yaml, as for snakemake"
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], metavar="FILE", help=laid)
    parser.add_argument("--cores", type=positive, default=os.cpu_count(), help="default: all")
    lists = parser.add_mutually_exclusive_group()
    lists.add_argument(
        "--missing",
        action="store_true",
        help="list what a run has not made, and why",
    )
    lists.add_argument(
        "--downloads",
        action="store_true",
        help="list the files that a run downloads: host, bytes, licence",
    )
    parser.add_argument(
        "--gpus",
        type=natural,
        default=1,
        help="GPUs for the jobs that use one; several mean a cluster (SLURM), since jobs on one "
        "machine all take its first (default: 1)",
    )


def _plan(options: argparse.Namespace) -> int:
    import yaml

    from triptych.scale import nearest
    from triptych.studies import workflows

    check_workflow(root := Path.cwd())
    for file in options.configfile:
        if not file.is_file():
            raise InputError(f"{file}: no such file (--configfile)")
    if options.missing:
        from triptych.apps.missing import missing_text

        print(missing_text(listed_jobs(root, overlays=options.configfile)[0], root))
        return 0
    jobs, config, source, scale = planned_run(root, options.configfile)
    sources = yaml.safe_load((source / "resources" / "sources.yaml").read_text(encoding="utf-8"))
    studies = {name: module.Workflow(config, sources) for name, module in workflows().items()}
    if options.downloads:
        from triptych.apps.downloads import downloads_page

        print(downloads_page(studies, sources))
        return 0
    known = nearest(config, source)
    gpus = options.gpus if any(job.gpu for job in jobs) else 0
    print(page(jobs, read_costs(source / COSTS, known), scale, options.cores, gpus))
    if scale != known:
        print(
            f"Hours and disk are those of the scale {known}'s jobs: updates, epochs and "
            "keep_downloads of your own are not counted."
        )
    print(claims_page(config, sources))
    if any(job.rule == "style_download_picture" for job in jobs) and studies["style"].unnamed:
        print(f"\n{studies['style'].unnamed}")
    return 0


def claims_page(config: Mapping[str, Any], sources: Mapping[str, Any]) -> str:
    """A line for each claim: whether a run of this config can decide it, and what it would lack."""
    from triptych.report.claims import DECIDES, sentence
    from triptych.studies import predictions

    unmet = predictions(config, sources)
    decided = Counter(needs_of_claim.decided for needs_of_claim in unmet.values())
    counts = ", ".join(f"{count} {word}" for word, count in decided.items())
    lines = ["", f"Claims: {counts}. docs/claims.md says which scale decides each."]
    for claim, needs in unmet.items():
        line = f"  {claim}: {needs.decided}."
        if needs.decided != DECIDES:
            line += f" {sentence([needs.text()])}"
        lines.append(line)
    return "\n".join(lines)


def planned_run(root: Path, overlays: Sequence[Path]) -> PlannedRun:
    """All jobs of a run in a folder, finished ones included, and the config that Snakemake has.

    Raises InputError where Snakemake can't build the graph or has no job for it, and where the
    Snakefile uses Triptych with several configs.
    """
    jobs, runs = listed_jobs(root, "--forceall", overlays=overlays)
    if not jobs:
        raise InputError(
            f"{root / 'Snakefile'}: Snakemake lists no job for its default target; make rule all "
            "of Triptych the default target, or one that needs it"
        )
    if not runs or any(run["config"] != runs[0]["config"] for run in runs):
        raise InputError(
            f"{root / 'Snakefile'}: it uses Triptych with {len(runs)} configs, and a plan is of "
            "one; begin a folder for each by triptych init"
        )
    first = runs[0]
    return PlannedRun(jobs, first["config"], Path(first["source"]), first["scale"])


def read_costs(path: Path, scale: str) -> dict[str, Cost]:
    """The cost of a job of each rule at a scale, by the rule's name.

    A rule without a row of the scale costs what it does at the scale `paper`, if this is `beyond`,
    else in the demo, or else at any other.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    order = {"demo": 1, "paper": 2 if scale == "beyond" else 0, scale: 3}
    costs: dict[str, Cost] = {}
    for row in sorted(rows, key=lambda row: order.get(row["scale"], 0)):
        numbers = {name: float(row[name] or 0) for name in NUMBERS}
        other = "" if row["scale"] == scale else f" (of the {row['scale']} scale)"
        costs[row["rule"]] = Cost(**numbers, source=row["source"] + other)
    return costs


def total_cost(jobs: Sequence[Job], costs: Mapping[str, Cost]) -> Cost:
    """The sum over jobs of what a job of its rule costs; of memory the largest."""
    of_jobs = [costs.get(job.rule, UNKNOWN) for job in jobs]
    total = {name: sum(getattr(cost, name) for cost in of_jobs) for name in NUMBERS}
    total["memory_mb"] = max((cost.memory_mb for cost in of_jobs), default=0.0)
    return Cost(**total)


def wall_seconds(jobs: Sequence[Job], costs: Mapping[str, Cost], cores: int, gpus: int) -> float:
    """Seconds from the first job to the last, when of those that can begin the job goes first after
    which the longest chain of jobs waits; each has cores, a GPU or the line to itself.

    A job with ALL_CORES threads measures time, and computes on one.
    """
    seconds, wants = [], []
    for job in jobs:
        cost = costs.get(job.rule, UNKNOWN)
        busy = 1 if job.threads == ALL_CORES else min(job.threads, cores)
        computing = max(cost.gpu_hours * 3600, cost.core_seconds / busy)
        seconds.append(computing + cost.download_mb / LINE)
        wants.append((min(job.threads, cores), cost.gpu_hours > 0, cost.download_mb > 0))
    awaited = needs_of(jobs)
    followers: list[list[int]] = [[] for _ in jobs]
    for number, needed in enumerate(awaited):
        for before in needed:
            followers[before].append(number)

    @cache
    def chain(number: int) -> float:
        return seconds[number] + max(map(chain, followers[number]), default=0.0)

    now, free, running = 0.0, [cores, max(gpus, 1), 1], list[tuple[float, int]]()
    ready = [number for number, needed in enumerate(awaited) if not needed]
    while ready or running:
        for number in sorted(ready, key=chain, reverse=True):
            left = [room - want for room, want in zip(free, wants[number], strict=True)]
            if min(left) >= 0:
                free = left
                ready.remove(number)
                heappush(running, (now + seconds[number], number))
        now, ended = heappop(running)
        free = [room + want for room, want in zip(free, wants[ended], strict=True)]
        for number in followers[ended]:
            awaited[number].remove(ended)
            if not awaited[number]:
                ready.append(number)
    return now


def page(jobs: Sequence[Job], costs: Mapping[str, Cost], scale: str, cores: int, gpus: int) -> str:
    """The plan as text: a row for each rule, dearest first, the totals, the time it all takes."""

    def dearness(rule: str) -> tuple[float, float, str]:
        return -totals[rule].gpu_hours, -totals[rule].core_seconds, rule

    counts = Counter(job.rule for job in jobs)
    totals = {rule: total_cost([job for job in jobs if job.rule == rule], costs) for rule in counts}
    order = sorted(totals, key=dearness)
    counts[TOTAL], totals[TOTAL] = len(jobs), total_cost(jobs, costs)
    collect = {job.rule for job in jobs if not job.outputs}
    rows = [
        (
            rule,
            str(counts[rule]),
            _digits(totals[rule].core_seconds / 3600),
            _digits(totals[rule].gpu_hours),
            _digits(totals[rule].memory_mb),
            _size(totals[rule].download_mb),
            _size(totals[rule].disk_mb),
            "" if rule in (TOTAL, *collect) else costs.get(rule, UNKNOWN).source,
        )
        for rule in (*order, TOTAL)
    ]
    head = ("rule", "jobs", "core h", "GPU h", "memory MB", "downloads", "disk", "known from")
    aligned = ("left", *["right"] * 6, "left")
    table = tabulate(rows, head, tablefmt="plain", colalign=aligned, disable_numparse=True)
    hours = wall_seconds(jobs, costs, cores, gpus) / 3600
    beside = f" and {gpus} GPU{'s' * (gpus > 1)}" if gpus else ""
    return f"{table}\n\nScale {scale}: about {_digits(hours)} h on {cores} cores{beside}."


def _size(megabytes: float) -> str:
    return f"{_digits(megabytes / 1e3)} GB" if megabytes >= 1 else ""


def _digits(value: float) -> str:
    """A number with three digits at most; empty for 0, "<0.01" for less than 0.005."""
    if not value:
        return ""
    if value < 0.005:
        return "<0.01"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"

"""The console command `triptych plan`: what a run of the workflow will take, before it starts.

Snakemake lists the jobs (listed_jobs.py). resources/costs.csv has the cost of a job of each rule at
each scale, measured or estimated; the benchmark files of jobs that have finished here with this
config take its place.
"""

import argparse
import csv
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from triptych.apps import check_workflow, command
from triptych.apps.listing import ALL_CORES, Job, listed_jobs, needs_of
from triptych.core.errors import InputError

DESCRIPTION = """\
What a run of the workflow will take, before it starts. Snakemake counts the jobs;
resources/costs.csv says what one of each rule takes, measured or estimated; jobs that have finished
here with this config count by their own benchmark files. Run it in the folder of the workflow.
"""

EXAMPLES = """\
examples:
  triptych plan
  triptych plan --configfile config/paper.yaml --cores 64 --gpus 8
  triptych plan --configfile config/paper.yaml my.yaml
  triptych plan --missing --configfile config/paper.yaml
"""

COSTS = Path("resources") / "costs.csv"
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
    source: str = ""


def add_commands(commands: Any) -> None:
    """Add the command to the subparsers of `triptych`."""
    summary = "show what a run will take: jobs, hours, memory, downloads, disk, claims"
    parser = command(commands, "plan", _plan, summary, DESCRIPTION, EXAMPLES)
    laid = "laid over config.yaml, as for snakemake"
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], metavar="FILE", help=laid)
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="default: all")
    parser.add_argument(
        "--missing",
        action="store_true",
        help="list what a run has not made, and why",
    )
    parser.add_argument("--gpus", type=int, default=1, help="where there are any (default: 1)")


def _plan(options: argparse.Namespace) -> int:
    from triptych.scale import BEYOND, FILES, PAPER, nearest

    check_workflow(root := Path.cwd())
    if options.missing:
        from triptych.apps.missing import missing_text

        print(missing_text(listed_jobs(root, overlays=options.configfile)[0], root))
        return 0
    jobs, config, source, scale = planned_run(root, options.configfile)
    known = nearest(config, source)
    costs = costs_of(jobs, source, known)
    for number, benchmark in measured(root, jobs, options.configfile):
        costs[number] = _as_measured(costs[number], jobs[number], benchmark)
    name = scale if scale == known else f"{scale}, whose jobs count as those of {known}"
    print(page(jobs, costs, name, options.cores, options.gpus if any(j.gpu for j in jobs) else 0))
    if scale in (PAPER, BEYOND):
        other = BEYOND if scale == PAPER else PAPER
        jobs = planned_run(root, [source / file for file in FILES[other]]).jobs
        word = "With" if other == BEYOND else "Without"
        print(f"{word} config/beyond.yaml: {totals(jobs, costs_of(jobs, source, other))}.")
    print(claims_page(config, source))
    return 0


def costs_of(jobs: Sequence[Job], source: Path, scale: str) -> list[Cost]:
    """The cost of each job at a scale, by `source`/resources/costs.csv."""
    costs = read_costs(source / COSTS, scale)
    return [costs.get(job.rule, Cost(source="unknown")) for job in jobs]


def totals(jobs: Sequence[Job], costs: Sequence[Cost]) -> str:
    """The number of jobs, core hours, GPU hours and downloads of a run."""
    return (
        f"{len(jobs)} jobs, {_digits(_sum(costs) / 3600)} core h, "
        f"{_digits(_sum(costs, 'gpu_hours'))} GPU h, {_size(_sum(costs, 'download_mb'))} of "
        "downloads"
    )


def claims_page(config: Mapping[str, Any], source: Path) -> str:
    """A line for each claim: whether a run of this config can decide it, and what it would lack."""
    import yaml

    from triptych.report.claims import DECIDES, sentence
    from triptych.studies import predictions

    sources = yaml.safe_load((source / "resources" / "sources.yaml").read_text(encoding="utf-8"))
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
        numbers = {
            name: float(row[name] or 0)
            for name in ("core_seconds", "gpu_hours", "memory_mb", "download_mb", "disk_mb")
        }
        other = "" if row["scale"] == scale else f" (of the {row['scale']} scale)"
        costs[row["rule"]] = Cost(**numbers, source=row["source"] + other)
    return costs


def measured(
    root: Path, jobs: Sequence[Job], overlays: Sequence[Path]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The numbers of the jobs that have finished here with this config, and their benchmarks with
    the seconds (`s`) of all attempts."""
    benchmarks = {n: root / job.benchmark for n, job in enumerate(jobs) if job.benchmark}
    benchmarks = {n: path for n, path in benchmarks.items() if path.exists()}
    if benchmarks:
        unfinished = {job.outputs for job in listed_jobs(root, overlays=overlays)[0]}
        for number, path in benchmarks.items():
            if jobs[number].outputs not in unfinished:
                with path.open(encoding="utf-8", newline="") as lines:
                    benchmark = list(csv.DictReader(lines, delimiter="\t"))[-1]
                record = path.parents[2] / "provenance" / path.parent.name / f"{path.stem}.json"
                if record.exists():
                    earlier = json.loads(record.read_text(encoding="utf-8"))["attempts"][:-1]
                    benchmark["s"] = str(float(benchmark["s"].replace("-", "0")) + sum(earlier))
                yield number, benchmark


def _as_measured(cost: Cost, job: Job, benchmark: Mapping[str, str]) -> Cost:
    """A job's cost by its own benchmark."""
    seconds, memory = (float(benchmark[name].replace("-", "0")) for name in ("s", "max_rss"))
    return replace(
        cost,
        core_seconds=seconds * _busy(job),
        gpu_hours=seconds / 3600 if job.gpu else 0.0,
        memory_mb=memory,
        source="this run's benchmark files",
    )


def _busy(job: Job) -> int:
    """The cores that a job computes on; what takes all measures time, and computes on one."""
    return 1 if job.threads == ALL_CORES else job.threads


def wall_seconds(jobs: Sequence[Job], costs: Sequence[Cost], cores: int, gpus: int) -> float:
    """From the first job to the last, roughly: as long as the longest chain of jobs, the cores, the
    GPUs or the line take, whichever is longest."""
    seconds = [
        max(cost.gpu_hours * 3600, cost.core_seconds / min(_busy(job), cores))
        + cost.download_mb / LINE
        for job, cost in zip(jobs, costs, strict=True)
    ]
    needs = needs_of(jobs)
    ends: dict[int, float] = {}

    def end(number: int) -> float:
        if number not in ends:
            ends[number] = seconds[number] + max(map(end, needs[number]), default=0.0)
        return ends[number]

    taken = [min(job.threads, cores) * took for job, took in zip(jobs, seconds, strict=True)]
    on_gpu = sum(cost.gpu_hours for cost in costs) * 3600
    line = sum(cost.download_mb for cost in costs) / LINE
    chain = max(map(end, range(len(jobs))), default=0.0)
    return max(chain, sum(taken) / cores, on_gpu / max(gpus, 1), line)


def page(jobs: Sequence[Job], costs: Sequence[Cost], scale: str, cores: int, gpus: int) -> str:
    """The plan as text: a row for each rule, dearest first, the totals, the time it all takes."""
    rules: dict[str, list[Cost]] = defaultdict(list)
    for job, cost in zip(jobs, costs, strict=True):
        rules[job.rule].append(cost)
    order = sorted(
        rules, key=lambda rule: (-_sum(rules[rule], "gpu_hours"), -_sum(rules[rule]), rule)
    )
    head = ("rule", "jobs", "core h", "GPU h", "memory MB", "downloads", "disk", "known from")
    lines = [head, *(_line(rule, rules[rule]) for rule in order)]
    lines.append((*_line("all", costs)[:-1], ""))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *map(str.rjust, line[1:-1], widths[1:]), line[-1]]
        ).rstrip()
        for line in lines
    )
    hours = wall_seconds(jobs, costs, cores, gpus) / 3600
    beside = f" and {gpus} GPU{'s' * (gpus > 1)}" if gpus else ""
    return f"{text}\n\nScale {scale}: about {_digits(hours)} h on {cores} cores{beside}."


def _sum(costs: Iterable[Cost], name: str = "core_seconds") -> float:
    return sum(getattr(cost, name) for cost in costs)


def _line(rule: str, costs: Sequence[Cost]) -> tuple[str, ...]:
    sources = Counter(cost.source for cost in costs)
    labels = [
        f"{count} by {source}" if len(sources) > 1 else source for source, count in sources.items()
    ]
    return (
        rule,
        str(len(costs)),
        _digits(_sum(costs) / 3600),
        _digits(_sum(costs, "gpu_hours")),
        _digits(max((cost.memory_mb for cost in costs), default=0.0)),
        _size(_sum(costs, "download_mb")),
        _size(_sum(costs, "disk_mb")),
        "; ".join(labels),
    )


def _size(megabytes: float) -> str:
    return f"{_digits(megabytes / 1e3)} GB" if megabytes >= 1 else ""


def _digits(value: float) -> str:
    """A number with three digits at most; empty for 0, "<0.01" for less than 0.005."""
    if not value:
        return ""
    if value < 0.005:
        return "<0.01"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"

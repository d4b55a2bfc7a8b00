"""Every job of a run with its cost, and whether the run makes all that the config asks for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from triptych.core.cost import Cost
from triptych.plan.dry_run import DryRun, Job, dry_run, missing
from triptych.studies import NAMES

SOURCES = Path("resources") / "sources.yaml"
OTHERS = "report"
HASHED = 1e9
"""Bytes whose SHA-256 is known after a second: assumed."""


@dataclass(frozen=True)
class Plan:
    """Jobs and their costs side by side.

    rows: how many rows of experiments each study has;  missing: those that no job makes
    notes: what a study says of money beside what this config spends
    """

    jobs: list[Job]
    costs: list[Cost]
    rows: dict[str, int]
    missing: list[str]
    notes: list[str]


def planned(found: DryRun, config: Mapping[str, Any], sources: Path) -> Plan:
    """Cost every job. sources: resources/sources.yaml."""
    known = yaml.safe_load(sources.read_text(encoding="utf-8"))
    costs = [cost_of(config, known, job.rule, job.wildcards) for job in found.jobs]
    hashing = Cost(cpu_seconds=sum(cost.disk for cost in costs) / HASHED)
    for number, job in enumerate(found.jobs):
        if job.rule == "report_manifest":  # reads what all the others made
            costs[number] = hashing
    rows = {name: costs_of(name).rows(config[name]) for name in NAMES}
    lost = [
        f"{NAMES[name]}: {row}"
        for name, files in rows.items()
        for row in missing(found.jobs, files)
    ]
    return Plan(
        found.jobs,
        costs,
        {name: len(files) for name, files in rows.items()},
        lost,
        [note for name in NAMES for note in costs_of(name).notes(config[name])],
    )


def cost_of(
    config: Mapping[str, Any], sources: Mapping[str, Any], rule: str, wildcards: Mapping[str, str]
) -> Cost:
    """The cost of one job by its rule's study; of the page and the like none."""
    study = study_of(rule)
    if study not in NAMES:
        return Cost()
    cost: Cost = costs_of(study).job_cost(config[study], sources, rule, wildcards)
    return cost


def costs_of(study: str) -> Any:
    """The module that counts what a study's jobs take: `job_cost`, `rows` and `notes`."""
    return import_module(f"triptych.{study}.cost")


def study_of(rule: str) -> str:
    """The study that a rule belongs to by its name, or "report"."""
    name = rule.partition("_")[0]
    return name if name in NAMES else OTHERS


def measured_seconds(root: Path, found: DryRun, configfiles: Sequence[Path]) -> dict[int, float]:
    """Seconds of the jobs, by number, that have run on a GPU here with this very config."""
    records = {}
    for number, job in enumerate(found.jobs):
        path = root / job.log.replace("results/logs/", "results/provenance/", 1)
        path = path.with_suffix(".json")
        if job.gpus and path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            if "peak_gpu_memory_bytes" in record:
                records[number] = float(record["seconds"])
    if not records:
        return {}
    open_ = {job.outputs for job in dry_run(root, configfiles, everything=False).jobs}
    return {n: seconds for n, seconds in records.items() if found.jobs[n].outputs not in open_}

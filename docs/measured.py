"""python docs/measured.py "AVX512-bf16": keep what the demo that has just run here took.

Writes the demo's rows of resources/costs.csv, and with --kept a line of docs/results/bench/demo.csv
alone: processor, instruction set, cores, seconds of all jobs and until the first picture, the
first table and the end. `make docs` writes the pages' minutes from it. Run it after `make demo`
in a clean clone, on a machine that did nothing else; with --shared, where other work ran beside,
only the seconds of a core are kept.
"""

import argparse
import csv
import datetime
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from triptych.apps.listing import ALL_CORES  # noqa: E402
from triptych.apps.plan import planned_run  # noqa: E402
from triptych.core.provenance import cpu_name  # noqa: E402

COSTS, RUNS = ROOT / "resources/costs.csv", ROOT / "docs/results/bench/demo.csv"
FIRST = {
    "first_picture_seconds": "results/style/stylised/swirls/china.png",
    "first_table_seconds": "results/tables/rl_table1.md",
}
KEYS = ("processor", "instructions", "cores")


def measured(root: Path) -> dict[str, list[dict[str, float]]]:
    """Core seconds, wall seconds, megabytes and the time of the end of each job, by rule.

    A job that takes all cores measures time: its seconds on the clock count.
    """
    jobs: dict[str, list[dict[str, float]]] = defaultdict(list)
    for job in filter(lambda job: job.outputs, planned_run(root, []).jobs):
        path = root / job.benchmark
        with path.open(encoding="utf-8", newline="") as lines:
            row = list(csv.DictReader(lines, delimiter="\t"))[-1]
        wall, spent, memory = (
            float(row[name].replace("-", "0")) for name in ("s", "cpu_time", "max_rss")
        )
        spent = max(spent, wall)  # Snakemake looks every 15 seconds, and not when a job ends
        core = wall if job.threads == ALL_CORES else spent
        ended = path.stat().st_mtime
        about = {"core": core, "cpu": spent, "wall": wall, "memory": memory, "ended": ended}
        jobs[job.rule].append(about)
    return jobs


def began(root: Path) -> float:
    """When the Snakemake began that made the first picture, by the name of its log; a later one may
    have found nothing to do."""
    picture = (root / FIRST["first_picture_seconds"]).stat().st_mtime
    logs = (root / ".snakemake/log").glob("*.snakemake.log")
    times = (datetime.datetime.strptime(log.name[:17], "%Y-%m-%dT%H%M%S") for log in logs)
    return max(time.timestamp() for time in times if time.timestamp() <= picture)


def write_costs(jobs: Mapping[str, list[dict[str, float]]], source: str) -> None:
    """Replace the demo's rows; disk and downloads stay what they were."""
    with COSTS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    disk = {row["rule"]: row["disk_mb"] for row in rows if row["scale"] == "demo"}
    kept = [row for row in rows if row["scale"] != "demo"]
    for rule, of_rule in jobs.items():
        mean = sum(job["core"] for job in of_rule) / len(of_rule)
        row = dict.fromkeys(rows[0], "")
        row |= {"rule": rule, "scale": "demo", "core_seconds": f"{mean:.3g}", "source": source}
        row |= {"memory_mb": f"{max(job['memory'] for job in of_rule):.3g}"}
        kept.append(row | {"disk_mb": disk.get(rule, "")})
    order = ["demo", "overnight", "evening", "paper", "beyond"]
    kept.sort(key=lambda row: (row["rule"], order.index(row["scale"])))
    _write(COSTS, kept)


def add_run(root: Path, jobs: Mapping[str, list[dict[str, float]]], about: dict[str, str]) -> None:
    """Add a line, or replace that of the same processor, instructions and cores."""
    with RUNS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    every = [job for of_rule in jobs.values() for job in of_rule]
    start = began(root)
    clock = {name: f"{(root / file).stat().st_mtime - start:.0f}" for name, file in FIRST.items()}
    clock["seconds"] = f"{max(job['ended'] for job in every) - start:.0f}"
    row = about | {
        "core_seconds": f"{sum(job['cpu'] for job in every):.0f}",
        **clock,
        "date": f"{datetime.datetime.fromtimestamp(start):%Y-%m-%d}",
    }
    same = [[each[key] for key in KEYS] == [row[key] for key in KEYS] for each in rows]
    rows = [each for each, is_same in zip(rows, same, strict=True) if not is_same]
    _write(RUNS, [*rows, row])


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instructions", help="the newest that the run used, such as AVX2")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where the demo ran")
    parser.add_argument("--kept", action="store_true", help="leave resources/costs.csv as it is")
    options = parser.parse_args()
    processor = re.sub(r"\s+", " ", cpu_name())
    named = {"processor": processor, "instructions": options.instructions, "cores": options.cores}
    found = measured(options.folder)
    add_run(options.folder, found, named)
    if not options.kept:
        day = datetime.datetime.fromtimestamp(began(options.folder))
        write_costs(
            found,
            f"measured: demo of {day:%Y-%m-%d}, {options.cores} cores of {processor} "
            f"({options.instructions}), otherwise idle",
        )

"""What a run has not made, and why, and the page of what it has.

python -m triptych.apps.missing FILE: the same for jobs and run in FILE, as listed_jobs.py writes
it; the Snakefile's `onerror` calls this where a run ends.
"""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from triptych.apps.listing import ASKS, Job, early_problems, needs_of, read_listing
from triptych.core.config import merged, read_yaml, without_removed
from triptych.core.job import lock_of
from triptych.core.job_lock import abandoned
from triptych.core.stopping import SAVED
from triptych.page import PARTIAL, write_page
from triptych.report.page import Gap, told
from triptych.studies import page_input, workflows
from triptych.style.data.missing import missing_among

INFRASTRUCTURE = True

PAGE, REPORT = "report_page", "results/report.html"
"""The rule of the whole page, and its output."""
OWN_ERROR = re.compile(r"^triptych(\.\w+)+: ")
"""How a traceback begins an error whose text is this project's."""
KILLED = "ended without a message: killed, perhaps for memory; run again to resume"
"""Error of a job that left none."""


def show_missing(jobs: Sequence[Job], runs: Sequence[Mapping[str, Any]]) -> None:
    """Print what a run in the current folder has not made; write a page of what it has where the
    whole one is among that.

    jobs: those that Snakemake would still start. runs: what the Snakefile has planned.
    """
    jobs = [job for job in jobs if not job.rule.endswith(ASKS)]
    gaps, failed = gaps_of(jobs, Path())
    same = bool(runs) and all(run["config"] == runs[0]["config"] for run in runs)
    rest = rest_of(jobs, failed, runs[0]) if same else ""
    print(missing_page(jobs, Path(), rest))
    [page] = [job.outputs[0] for job in jobs if job.rule == PAGE and same] or [""]
    if page:
        print(f"\nWhat was made: {_write_partial(page.removesuffix(REPORT), gaps, rest, runs[0])}")


def missing_page(jobs: Sequence[Job], root: Path, rest: str = "") -> str:
    """Text with the number of jobs that a run in `root` has not made, its gaps, and pictures.

    jobs: as of `show_missing`. rest: as of `Page`.
    """
    jobs = [job for job in jobs if not job.rule.endswith(ASKS)]
    lines, gaps = [], gaps_of(jobs, root)[0]
    if jobs:
        failed = {job for gap in gaps for job in gap.errors}
        lines.append(f"{len(jobs)} jobs are missing. Of them {len(failed)} failed:")
    for gap in told(gaps):
        errors = [f"{job}\n{indent(error, '  ')}" for job, error in gap.errors.items()]
        products = [f"  Missing: {', '.join(gap.products)}"] if gap.products else []
        lines += ["", *(errors or [f"For no failed job: {gap.reason}."]), *products]
    for folder in ("paintings", "contents"):
        for name, reason in missing_among(root.glob(f"**/results/style/{folder}/*.png")).items():
            lines.append(f"\nThe picture {name}, which figures and page leave out:\n  {reason}")
    lines += early_problems(root)
    if rest:
        lines.append(f"\nA config with this, the last of --configfile, makes the rest:\n{rest}")
    return "\n".join(lines) if lines else "Nothing is missing."


def gaps_of(jobs: Sequence[Job], root: Path) -> tuple[list[Gap], list[int]]:
    """The files of these jobs by the failed jobs that they wait for, and the positions of those
    that would fail again."""
    needs = needs_of(jobs)
    errors = [failure(root / job.log) if job.log else "" for job in jobs]

    @cache
    def causes(number: int) -> frozenset[int]:
        """The failed jobs that a job waits for, or itself if it failed by itself."""
        waits = frozenset().union(*map(causes, needs[number]))
        return waits or frozenset([number] * bool(errors[number]))

    files: dict[frozenset[int], list[str]] = defaultdict(list)
    for number, job in enumerate(jobs):
        files[causes(number)] += job.outputs
    names = [f"{job.rule}: {', '.join(job.outputs[:1])}" for job in jobs]
    gaps = [
        Gap(files[failed], {names[number]: errors[number] for number in sorted(failed)})
        for failed in sorted(files, key=lambda failed: (not failed, len(failed), sorted(failed)))
    ]
    again = {number for number, error in enumerate(errors) if not error.endswith((KILLED, SAVED))}
    return gaps, sorted(again & frozenset().union(*files))


def failure(log: Path) -> str:
    """The error that ended a job, or that it was stopped or killed, from its log and its lock; ""
    where it has not been started, or has ended well."""
    if not log.is_file():
        return ""
    text = log.read_text(encoding="utf-8", errors="replace")
    _, traceback, error = text.rpartition("Traceback (most recent call last):")
    lines = [line for line in error.splitlines() if line.strip() and not line.startswith("  ")]
    if traceback:
        return OWN_ERROR.sub("", "\n".join(lines))
    if text.rstrip().endswith(SAVED):
        return text.rstrip().rpartition(": ")[2]
    return KILLED if abandoned(lock_of(log)) else ""


def rest_of(jobs: Sequence[Job], failed: Iterable[int], run: Mapping[str, Any]) -> str:
    """The config (YAML), laid over the run's, that leaves out what failed jobs are of where a study
    can; "" where none can. failed: positions."""
    source = Path(run["source"])
    overlay: dict[str, Any] = {}
    needs, known = needs_of(jobs), workflows()
    for number in failed:
        waiting = {number}
        while more := {n for n, needed in enumerate(needs) if needed & waiting} - waiting:
            waiting |= more
        values: dict[str, set[str]] = defaultdict(set)
        for job in (jobs[n] for n in waiting):
            for name, value in job.wildcards.items():
                values[name].add(value)
        study = jobs[number].rule.partition("_")[0]
        if without := getattr(known.get(study), "without", None):
            config = without_removed(merged(run["config"], overlay), source)
            if part := without(config[study], values):
                overlay = merged(overlay, {study: part})
    if not overlay:
        return ""
    custom = {"scale": "custom", **overlay}  # the values are no longer a named scale's
    return str(yaml.safe_dump(custom, default_flow_style=True, width=math.inf)).strip()


def _write_partial(prefix: str, gaps: Sequence[Gap], rest: str, run: Mapping[str, Any]) -> str:
    """Write the page of what a run has made below a module's prefix; return its path."""
    source, config = Path(run["source"]), run["config"]
    sources = read_yaml(source / "resources" / "sources.yaml")
    planned = {name: module.Workflow(config, sources) for name, module in workflows().items()}
    files = page_input(planned)
    files["claims"] = [f"results/claims/{name}.csv" for name in planned]
    files["colophon"] = ["docs/colophon.md"]
    write_page(
        page := f"{prefix}results/{PARTIAL}",
        {
            name: [f"{prefix}{p}" if p.startswith("results/") else str(source / p) for p in paths]
            for name, paths in files.items()
        },
        {name: (workflow.facts(), workflow.page[1]) for name, workflow in planned.items()},
        run["scale"],
        f"{prefix}results/provenance",
        gaps=gaps,
        rest=rest,
    )
    return page


if __name__ == "__main__":
    show_missing(*read_listing(Path(sys.argv[1])))

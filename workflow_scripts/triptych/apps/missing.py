"""List what a run has not made, and why: `triptych plan --missing`."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from textwrap import indent

from triptych.apps.listing import Job
from triptych.style.data.missing import missing_among

TRACEBACK = "Traceback (most recent call last):"


def missing_page(jobs: Sequence[Job], root: Path) -> str:
    """Text with each job that failed, its reason, and the jobs that wait for it.

    jobs: those that Snakemake would still start in `root`.
    """
    needs = needs_of(jobs)
    reasons = {number: failure(root / job.log) for number, job in enumerate(jobs) if job.log}
    failed = {number: reason for number, reason in reasons.items() if reason}
    waiting = {
        number: {cause for cause in _before(number, needs) if cause in failed}
        for number in range(len(jobs))
        if number not in failed
    }
    blocked = [number for number, causes in waiting.items() if causes]
    free = len(waiting) - len(blocked)
    lines = []
    if jobs:
        counts = f"{len(failed)} failed, {len(blocked)} wait for them"
        lines.append(f"{len(jobs)} jobs are missing: {counts}.")
    for number, reason in failed.items():
        rules = dict.fromkeys(jobs[n].rule for n in blocked if number in waiting[n])
        lines.append(f"\n{jobs[number].rule}: {', '.join(jobs[number].outputs)}")
        lines.append(indent(reason, "  "))
        lines.append(f"  Waiting for it: {', '.join(rules) or 'nothing'}.")
    if free:
        lines.append(f"\n{free} jobs wait for none of these: run snakemake again.")
    for folder in ("paintings", "contents"):
        for name, reason in missing_among(root.glob(f"**/results/style/{folder}/*.png")).items():
            lines.append(f"\nThe picture {name}, which figures and page leave out:\n  {reason}")
    return "\n".join(lines) if lines else "Nothing is missing."


def needs_of(jobs: Sequence[Job]) -> list[set[int]]:
    """For each job, positions of the jobs that make its inputs or a folder with them inside."""
    maker = {file: number for number, job in enumerate(jobs) for file in job.outputs}
    needs = []
    for job in jobs:
        paths = map(PurePosixPath, job.inputs)
        places = {str(place) for path in paths for place in (path, *path.parents)}
        needs.append({maker[place] for place in places if place in maker})
    return needs


def failure(log: Path) -> str:
    """The error that ended a job, from its log; "" where none did."""
    if not log.is_file():
        return ""
    _, found, text = log.read_text(encoding="utf-8", errors="replace").rpartition(TRACEBACK)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("  ")]
    return "\n".join(lines) if found else ""


def _before(number: int, needs: Sequence[set[int]]) -> set[int]:
    """Positions of all jobs that a job waits for, directly or not."""
    found: set[int] = set()
    waiting = [*needs[number]]
    while waiting:
        if (first := waiting.pop()) not in found:
            found.add(first)
            waiting += needs[first]
    return found

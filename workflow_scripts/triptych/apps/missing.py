"""List what a run failed to make, and why."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from textwrap import indent

from triptych.apps.listing import ASKS, Job, input_problems, needs_of
from triptych.core.job import lock_of
from triptych.core.job_lock import abandoned
from triptych.core.stopping import SAVED

INFRASTRUCTURE = True

OWN_ERROR = re.compile(r"^triptych(\.\w+)+: ")
"""How a traceback begins an error whose text is this project's."""
KILLED = "ended without a message: killed, perhaps for memory; run again to resume"
"""Error of a job that left none."""


def missing_text(jobs: Sequence[Job], root: Path) -> str:
    """What a run in `root` has not made: jobs that failed, with their errors, the figures and
    tables that are missing, pictures that could not be had, and problems of inputs.

    jobs: those that Snakemake would still start.
    """
    planned = len(jobs)
    jobs = [job for job in jobs if job.outputs and not job.rule.endswith(ASKS)]
    logs = [root / job.log for job in jobs if job.log]
    if logs and not any(log.parent.parent.exists() for log in logs):
        return f"Nothing has run here: no results/logs. A run would start {planned} jobs."
    lines = []
    if jobs:
        failed = failed_jobs(jobs, root)
        lines.append(f"{len(jobs)} jobs are missing. Of them {len(failed)} failed:")
        for name, error in failed.items():
            lines += ["", name, indent(error, "  ")]
        outputs = [Path(file) for job in jobs for file in job.outputs]
        shown = {file.stem for file in outputs if file.parent.name in ("figures", "tables")}
        lines += ["", f"Missing with them: {', '.join(sorted(shown))}."] if shown else []
    lines += _missing_pictures(root) + input_problems(root)
    return "\n".join(lines) or "Nothing is missing."


def failed_jobs(jobs: Sequence[Job], root: Path) -> dict[str, str]:
    """The errors of the jobs that failed by themselves, by their rule and first output. The log of
    a job that waits for a failed one is of an earlier run."""
    needs = needs_of(jobs)
    errors = [failure(root / job.log) if job.log else "" for job in jobs]

    @cache
    def waits(number: int) -> bool:
        return any(errors[needed] or waits(needed) for needed in needs[number])

    return {
        f"{job.rule}: {', '.join(job.outputs[:1])}": errors[number]
        for number, job in enumerate(jobs)
        if errors[number] and not waits(number)
    }


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


def _missing_pictures(root: Path) -> list[str]:
    lines = []
    with suppress(ImportError):  # Snakemake's own environment may have no Pillow
        from triptych.style.data.missing import missing_among

        for folder in ("paintings", "contents"):
            pictures = root.glob(f"**/results/style/{folder}/*.png")
            for name, reason in missing_among(pictures).items():
                lines.append(f"\nThe picture {name}, which figures and page leave out:\n  {reason}")
    return lines

"""How long everything took and on what device, from the provenance sidecars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.report.tables import DASH, Table

UNKNOWN = "unknown"


def job_table(records: Mapping[str, dict[str, Any]]) -> pd.DataFrame:
    """One row a job: rule, seconds, peak_memory_bytes, device, cpu, threads, packages.

    `records` by path. One that lacks a key gives nan or "unknown" there.
    """
    numbers, names = ["seconds", "peak_memory_bytes", "threads"], ["device", "cpu"]
    rows = [
        {
            **{name: record.get(name) for name in numbers},
            **{name: str(record.get(name) or UNKNOWN) for name in names},
            "rule": str(record.get("rule") or Path(path).parent.name),
            "packages": record.get("packages") or {},
        }
        for path, record in records.items()
    ]
    frame = pd.DataFrame(rows, columns=["rule", *numbers, *names, "packages"])
    frame[numbers] = frame[numbers].apply(pd.to_numeric, errors="coerce").astype(float)
    return frame


def duration(seconds: float) -> str:
    """Seconds as a person says them: `48 s`, `3 min 05 s`, `2 h 10 min`."""
    if pd.isna(seconds):
        return DASH
    if round(seconds) < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def timing_table(jobs: pd.DataFrame) -> Table:
    """Jobs, their summed and longest time and their peak memory by rule, longest first."""
    rules = jobs.groupby("rule").agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        longest=("seconds", "max"),
        memory=("peak_memory_bytes", "max"),
        device=("device", lambda names: ", ".join(sorted(set(names)))),
    )
    rules = rules.sort_values("seconds", ascending=False, kind="stable")
    rows = [
        (
            str(row["rule"]),
            f"{row['jobs']}",
            duration(row["seconds"]),
            duration(row["longest"]),
            DASH if pd.isna(row["memory"]) else f"{row['memory'] / 1e9:.2f} GB",
            str(row["device"]),
        )
        for _, row in rules.reset_index().iterrows()
    ]
    if rows:
        rows.append(("all", f"{len(jobs)}", duration(jobs["seconds"].sum()), DASH, DASH, DASH))
    headers = ("Rule", "Jobs", "Time of all jobs", "Longest job", "Peak memory", "Device")
    return Table(
        name="timings",
        title="Time and device.",
        caption=(
            "Summed over the jobs of each rule; jobs run side by side, so the wait is shorter. "
            "Peak memory is that of the largest job."
        ),
        columns=tuple(("", header) for header in headers),
        rows=tuple(rows),
    )


def versions(jobs: pd.DataFrame, names: Sequence[str]) -> dict[str, str]:
    """Versions of the named packages as the jobs report them (several where they differ)."""
    found: dict[str, str] = {}
    for name in names:
        seen = sorted({str(packages[name]) for packages in jobs["packages"] if name in packages})
        if seen:
            found[name] = ", ".join(seen)
    return found

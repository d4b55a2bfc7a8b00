"""Seconds and device of every job, from the provenance sidecars."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.report.tables import DASH, Table


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


def timing_table(records: Mapping[str, dict[str, Any]]) -> Table:
    """Jobs, their summed and longest time and their peak memory by rule, longest first.

    records: of jobs, by path.
    """
    columns = ["rule", "seconds", "peak_memory_bytes", "device"]
    jobs = pd.DataFrame([*records.values()], columns=columns)
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
            f"{row['memory'] / 1e9:.2f} GB",
            str(row["device"]),
        )
        for _, row in rules.reset_index().iterrows()
    ]
    if rows:
        rows.append(("all", f"{len(jobs)}", duration(jobs["seconds"].sum()), DASH, DASH, DASH))
    headers = ("Rule", "Jobs", "Time of all jobs", "Longest job", "Peak memory", "Device")
    caption = (
        "Summed over the jobs of each rule; jobs run side by side, so the wait is shorter. "
        "Peak memory is that of the largest job."
    )
    shown = tuple(("", header) for header in headers)
    return Table("timings", "Time and device.", caption, shown, tuple(rows))


def versions(records: Mapping[str, dict[str, Any]], names: Sequence[str]) -> dict[str, str]:
    """Versions of the named packages as the jobs report them (several where they differ)."""
    values: dict[str, set[str]] = {name: set() for name in names}
    for record in records.values():
        for name in values.keys() & record["packages"].keys():
            values[name].add(record["packages"][name])
    return {name: ", ".join(sorted(each)) for name, each in values.items() if each}

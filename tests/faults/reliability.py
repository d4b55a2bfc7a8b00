"""python reliability.py FOLDER PAGE: the table of PAGE from the records in FOLDER.

The records are the JSON lines that the tests leave with --reliability FOLDER; the table stands
between the two markers in PAGE, under a line that says when and on what machine it was made.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

import torch

BEGIN, END = "<!-- begin: make faults -->", "<!-- end: make faults -->"

KINDS = {
    "kill": "SIGKILL, then run again",
    "stop": "SIGTERM, then run again",
    "two runs": "a second run in the same folder",
    "edit": "code that changes meanwhile",
    "download": "a download",
    "wrong input": "a wrong input",
    "training": "a training gone wrong",
    "cluster": "on a SLURM cluster",
}
"""In the order of the table."""


def records(folder: Path) -> Counter[tuple[str, str, str]]:
    """How often each (kind, subject, outcome) was recorded."""
    times: Counter[tuple[str, str, str]] = Counter()
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            times[record["kind"], record["subject"], record["outcome"]] += record["times"]
    return times


def table(times: Counter[tuple[str, str, str]], today: str, machine: str) -> str:
    """The records as a Markdown table, one row a kind, subject and outcome."""
    unknown = {kind for kind, _, _ in times} - KINDS.keys()
    if unknown:
        raise SystemExit(f"unknown kinds {sorted(unknown)}; known are {list(KINDS)}")
    order = list(KINDS)
    # One row for a misbehaviour of servers, whichever rules it met.
    rules: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    together: Counter[tuple[str, str, str]] = Counter()
    for (kind, subject, outcome), count in times.items():
        rule, _, fault = subject.partition(": ")
        row = (kind, fault or subject if kind == "download" else subject, outcome)
        together[row] += count
        rules[row].add(rule)
    rows = sorted(together, key=lambda row: (order.index(row[0]), *row[1:]))
    lines = [
        f"{today}, {machine}: {sum(times.values())} faults.",
        "",
        "| what was tried | on what | times | what came of it |",
        "| --- | --- | ---: | --- |",
    ]
    for row in rows:
        kind, subject, outcome = row
        met = f", in {len(rules[row])} rules or variants" if len(rules[row]) > 1 else ""
        lines.append(f"| {KINDS[kind]} | {subject}{met} | {together[row]} | {outcome} |")
    return "\n".join(lines)


def machine_kind() -> str:
    """The machine in words."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{len(os.sched_getaffinity(0))} cores, {gpu}"


def main(folder: Path, page: Path) -> None:
    """Rewrite the table of the page."""
    times = records(folder)
    if not times:
        raise SystemExit(f"no records in {folder}: run the tests with --reliability {folder}")
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} lacks the lines {BEGIN} and {END}")
    made = table(times, f"{datetime.now(UTC):%Y-%m-%d}", machine_kind())
    page.write_text(f"{head}{BEGIN}\n{made}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

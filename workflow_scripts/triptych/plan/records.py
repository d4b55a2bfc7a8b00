"""What was measured, one observation a row: a file for each part, and the repository's own."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from triptych.core.cost import Work
from triptych.core.errors import InputError
from triptych.core.files import atomic_path

Row = dict[str, str]

COLUMNS = (
    "device",
    "part",
    "step",
    "study",
    "task",
    "side",
    "size",
    "precision",
    "status",
    "seconds",
    "per_second",
    "ratio",
    "calls",
    "peak_bytes",
    "operations",
    "traffic",
    "kernels",
    "note",
    "scale",
    "date",
    "torch",
)
"""step: of the part;  side: "plain" or "ours", of a bench;  seconds: of one call
ratio: plain over ours, of `large` that of the memory
operations, traffic, kernels: of one call, as its cost has them (core/cost.py)
scale: the config's label"""

MEASURED, FAILED, NOT_REACHED = "measured", "failed", "not reached"
"""Of a step; of a test: "passed", "failed" or "skipped"."""

KEPT = Path("resources") / "measured.csv"
"""What the repository keeps: of each device and part the latest."""


def read(path: Path) -> list[Row]:
    """The rows of a file; none where there is no file. Raises InputError for other columns."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise InputError(f"{path}: expected the columns {', '.join(COLUMNS)}")
        return list(reader)


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows; what a row lacks stays empty."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(row.get(name, "")) for name in COLUMNS} for row in rows)


def merged(kept: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """`kept` with the rows of the devices and parts in `new` replaced by those."""
    new = list(new)
    parts = {(row["device"], row["part"]) for row in new}
    rows = [row for row in kept if (row["device"], row["part"]) not in parts] + new
    return sorted(rows, key=lambda row: (row["device"], row["part"]))


def work_of(row: Row) -> Work:
    """What one call of a row's step amounts to."""
    return Work(*(float(row[name]) for name in ("operations", "traffic", "kernels")))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

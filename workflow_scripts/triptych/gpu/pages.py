"""The measured part of docs/performance.md, from resources/measured.csv; and the plan's page."""

from collections.abc import Sequence
from pathlib import Path

from triptych.core.cost import GPUS, Work
from triptych.plan.commands import page_text
from triptych.plan.measured import name_of
from triptych.plan.pages import BEGIN, END, insert, table
from triptych.plan.records import FAILED, NOT_REACHED, Row

MARKS = ("<!-- gpu: begin -->", "<!-- gpu: end -->")
PLAN_MARKS = (BEGIN, END)
PERFORMANCE = Path("docs") / "performance.md"
PLAN = Path("docs") / "paper-scale.md"
PLAN_SECONDS = 90
"""That the plan's page takes, about; it is written anew where trainings were measured."""

NOTHING = "**Not measured**: no GPU has run any of it. `make gpu` measures one and writes it here."


def rewrite(
    root: Path, kept: Sequence[Row], new: Sequence[Row], configfiles: Sequence[Path]
) -> None:
    """Write both pages of the folder `root` anew; the plan's only with trainings among `new`."""
    insert(root / PERFORMANCE, performance(kept) + "\n", MARKS)
    if any(row["operations"] for row in new):
        insert(root / PLAN, page_text(root, configfiles)[1], PLAN_MARKS)


def performance(rows: Sequence[Row]) -> str:
    """Every device that was measured, one after the other."""
    devices = dict.fromkeys(row["device"] for row in rows)
    sections = [_device(name, [row for row in rows if row["device"] == name]) for name in devices]
    return "\n\n".join(sections) or NOTHING


def _device(name: str, rows: Sequence[Row]) -> str:
    made = ", ".join(
        f"part {part} on {date}"
        for part, date in sorted({(row["part"], row["date"]) for row in rows})
    )
    torch = " and ".join(sorted({row["torch"] for row in rows}))
    scale = " and ".join(sorted({row["scale"] for row in rows}))
    parts = [
        f"### {name}",
        f"`make gpu`, {made}; PyTorch {torch}; sizes of the scale `{scale}`, inputs made up.",
    ]
    for section in (_tests, _trainings, _benches, _troubles):
        parts += [text] if (text := section(rows)) else []
    return "\n\n".join(parts)


def _tests(rows: Sequence[Row]) -> str:
    tests = [row for row in rows if row["study"] == "tests"]
    if not tests:
        return ""
    passed = sum(row["status"] == "passed" for row in tests)
    wrong = [f"- `{row['task']}`: {row['note']}" for row in tests if row["status"] == FAILED]
    summary = f"Of {len(tests)} tests marked gpu {passed} passed"
    return "\n".join([f"{summary}; these failed:\n", *wrong] if wrong else [f"{summary}."])


def _trainings(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["task"],
            row["size"],
            row["precision"],
            _seconds(row["seconds"]),
            f"{float(row['peak_bytes']) / 1e9:.2f}",
            _times(row),
        ]
        for row in rows
        if row["operations"]
    ]
    head = ["step", "size", "precision", "seconds", "peak memory, GB"]
    return table([*head, "times the seconds computed"], lines) if lines else ""


def _times(row: Row) -> str:
    """Measured over computed seconds, where the plan knows the device's figures."""
    name = name_of(row["device"])
    if name is None:
        return ""
    work = Work(float(row["operations"]), float(row["traffic"]), float(row["kernels"]))
    return f"{float(row['seconds']) / GPUS[name].seconds(work, row['precision']):.2f}"


def _benches(rows: Sequence[Row]) -> str:
    lines = [
        [
            f"{row['study']}: {row['task']}, {row['side']}",
            row["size"],
            row["precision"],
            _seconds(row["seconds"]),
            f"{float(row['ratio']):.2f}",
        ]
        for row in rows
        if row["side"]
    ]
    head = ["bench", "size", "precision", "seconds", "times as fast as plain"]
    note = "\n\nOf `large` the last column is that of the memory; of the paper's own images that "
    note += "of the paper's seconds."
    return table(head, lines) + note if lines else ""


def _troubles(rows: Sequence[Row]) -> str:
    return "\n".join(
        f"- part {row['part']}, {row['step']}: {row['status']}; {row['note']}"
        for row in rows
        if row["status"] in (FAILED, NOT_REACHED) and not row["study"]
    )


def _seconds(text: str) -> str:
    return f"{float(text):.3g}"

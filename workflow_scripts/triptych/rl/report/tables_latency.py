"""The latency table: time to act with dense and with sparse kernels."""

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import DASH, TIMES, Table, number, with_cells
from triptych.rl.report.labels import TASK_LABELS

# What a dense kernel's time depends on: not on the mask, since it multiplies zeros too.
CASE = ["task", "networks", "part", "candidates", "batch"]


def is_dense_kernel(kernels: pd.Series) -> pd.Series:
    """Which kernels multiply the whole matrix, zeros and all ("torch dense", "numpy dense")."""
    return kernels.str.endswith(" dense")


def latency_long(latency: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Median microseconds of each kernel, and how many times as fast as the fastest dense one.

    The fastest dense kernel of the same case (task, widths, part, candidates, batch) is the
    baseline: a sparse kernel that only beats the slower of two dense ones has won nothing.
    """
    frame = latency.rename(columns={"microseconds_median": "value"})
    frame["candidates"] = frame["candidates"].fillna(1).astype(int)
    dense = frame[is_dense_kernel(frame["kernel"])]
    fastest = dense.groupby(CASE)["value"].min().rename("dense_microseconds")
    frame = frame.merge(fastest.reset_index(), on=CASE, how="left")
    frame["speedup"] = frame["dense_microseconds"] / frame["value"]
    return with_cells(frame, unit="microseconds", scale=scale)


def highest_sparsity(long: pd.DataFrame, task: str) -> pd.DataFrame:
    """One task's rows at its highest sparsity, and every dense kernel's.

    Raises ValueError where the task was not timed.
    """
    chosen = long[long["task"] == task]
    if chosen.empty:
        raise ValueError(f"no latency was measured on task {task}: {sorted(set(long['task']))}")
    top = chosen["sparsity_percent"] == chosen["sparsity_percent"].max()
    return chosen[top | is_dense_kernel(chosen["kernel"])]


def kernels_in_order(long: pd.DataFrame) -> list[str]:
    """The kernels, dense ones first."""
    names = [str(name) for name in dict.fromkeys(long["kernel"])]
    return sorted(names, key=lambda name: not name.endswith(" dense"))


def latency_table(long: pd.DataFrame, *, task: str) -> Table:
    """Lay out one task's latencies at its highest sparsity: a row a case, a column a kernel."""
    chosen = highest_sparsity(long, task).reset_index(drop=True)
    kernels = kernels_in_order(chosen)
    columns = [("", "Part"), ("", "Batch"), *(("", str(kernel)) for kernel in kernels)]
    rows = []
    for _, cells in chosen.groupby(["part", "candidates", "batch"], sort=False):
        case = cells.iloc[0]
        line = [part_label(case["part"], int(case["candidates"])), f"{int(case['batch'])}"]
        for kernel in kernels:
            line.append(_latency_cell(cells[cells["kernel"] == kernel]))
        rows.append(tuple(line))
    sparsity = f"{chosen['sparsity_percent'].max():g}"
    return Table(
        name="rl_inference",
        title=f"Time to act at {sparsity}% sparsity.",
        caption=(
            f"{label(TASK_LABELS, task)}, {', '.join(sorted(set(chosen['networks'])))} widths. "
            "Median microseconds a call; in brackets how many times as fast as the fastest dense "
            "kernel of the same row. Outputs differ by at most "
            f"{chosen['maximum_difference'].max():.0e}. The paper states faster inference as a "
            "promise and measures none."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=2,
    )


def part_label(part: str, candidates: int) -> str:
    """What is timed, with its number of sampled actions where it has more than one."""
    name = part[:1].upper() + part[1:]
    return name if candidates <= 1 else f"{name}, {candidates} candidates"


def _latency_cell(cells: pd.DataFrame) -> str:
    """Microseconds and speed-up; the fastest row where several methods were timed."""
    if cells.empty:
        return DASH
    cell = cells.sort_values("value").iloc[0]
    text = number(cell["value"], 1 if cell["value"] < 100 else 0)
    if pd.isna(cell["speedup"]):
        return text
    return f"{text} ({number(cell['speedup'], 2)}{TIMES})"

"""Time to act and to train, with dense and with sparse kernels."""

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
    """Median microseconds of each kernel, and how many times as fast as the fastest dense kernel
    of the same case (task, widths, part, candidates, batch)."""
    frame = latency.rename(columns={"microseconds_median": "value"})
    frame["candidates"] = frame["candidates"].fillna(1).astype(int)
    dense = frame[is_dense_kernel(frame["kernel"])]
    fastest = dense.groupby(CASE)["value"].min().rename("dense_microseconds")
    frame = frame.merge(fastest.reset_index(), on=CASE, how="left")
    frame["speedup"] = frame["dense_microseconds"] / frame["value"]
    return with_cells(frame, unit="microseconds", scale=scale)


def latency_table(long: pd.DataFrame, *, task: str) -> Table:
    """Lay out one task's latencies: a row a case, a column a kernel."""
    chosen = long[long["task"] == task]
    names = [str(name) for name in dict.fromkeys(chosen["kernel"])]
    kernels = sorted(names, key=lambda name: not name.endswith(" dense"))
    columns = [("", "Part"), ("", "Batch"), *(("", str(kernel)) for kernel in kernels)]
    rows = []
    for _, cells in chosen.groupby(["part", "candidates", "batch"], sort=False):
        case = cells.iloc[0]
        line = [part_label(case["part"], int(case["candidates"])), f"{int(case['batch'])}"]
        for kernel in kernels:
            timed = cells.loc[cells["kernel"] == kernel, ["value", "speedup"]].to_numpy()
            texts = [
                f"{number(value, 1 if value < 100 else 0)} ({number(speedup, 2)}{TIMES})"
                for value, speedup in timed
            ]
            line.append(texts[0] if texts else DASH)
        rows.append(tuple(line))
    sparsity = f"{chosen['sparsity_percent'].max():g}"
    return Table(
        name="rl_inference",
        title=f"Time to act and to train at {sparsity}% sparsity.",
        caption=(
            f"{label(TASK_LABELS, task)}, {', '.join(sorted(set(chosen['networks'])))} widths. "
            "Median microseconds a call; in brackets how many times as fast as the fastest dense "
            "kernel of the same row. An update is one of training, of the kept weights alone "
            "beside all of the dense twin. Outputs, and an update's losses, differ by at most "
            f"{chosen['maximum_difference'].max():.0e}. The paper states faster inference "
            "and training as a promise and measures neither."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=2,
    )


def part_label(part: str, candidates: int) -> str:
    """Label of a timed part, with its number of candidates if it has several."""
    name = part[:1].upper() + part[1:]
    return name if candidates <= 1 else f"{name}, {candidates} candidates"

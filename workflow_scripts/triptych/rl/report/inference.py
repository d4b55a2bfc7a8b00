"""Time to act and to train, with dense and with sparse kernels."""

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import TIMES, Table, number, plain, with_cells
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


def latency_table(long: pd.DataFrame) -> Table:
    """Lay out the latencies of a task: a row a case, a column a kernel."""
    dense_first = sorted(dict.fromkeys(long["kernel"]), key=lambda name: "dense" not in name)
    first, cells = long.iloc[0], []
    for cell in long.to_dict("records"):
        row = (part_label(cell["part"], cell["candidates"]), f"{cell['batch']}", "")
        time = number(cell["value"], 1 if cell["value"] < 100 else 0)
        cells.append((*row, cell["kernel"], f"{time} ({number(cell['speedup'], 2)}{TIMES})"))
    return Table.spread(
        pd.DataFrame(cells, columns=["part", "batch", "group", "header", "cell"]),
        {"part": "Part", "batch": "Batch"},
        plain(*dense_first),
        name="rl_inference",
        title=f"Time to act and to train at {long['sparsity_percent'].max():g}% sparsity.",
        caption=(
            f"{label(TASK_LABELS, first['task'])}, {first['networks']} widths. "
            "Median microseconds a call; in brackets how many times as fast as the fastest dense "
            "kernel of the same row. An update is one of training, of the kept weights alone "
            "beside all of the dense twin. Outputs, and an update's losses, differ by at most "
            f"{long['maximum_difference'].max():.0e}. The paper states faster inference "
            "and training as a promise and measures neither."
        ),
    )


def part_label(part: str, candidates: int) -> str:
    """Label of a timed part, with its number of candidates if it has several."""
    name = part[:1].upper() + part[1:]
    return name if candidates <= 1 else f"{name}, {candidates} candidates"

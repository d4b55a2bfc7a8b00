"""Time to act and to train, with dense and with sparse kernels."""

import pandas as pd

from triptych.report.tables import with_cells

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


def part_label(part: str, candidates: int) -> str:
    """Label of a timed part, with its number of candidates if it has several."""
    name = part[:1].upper() + part[1:]
    return name if candidates <= 1 else f"{name}, {candidates} candidates"

"""Time to act, with dense and with sparse kernels."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from triptych.report.palette import MUTED, STYLE, label, legend_below
from triptych.report.tables import DASH, TIMES, Table, number, with_cells
from triptych.rl.report.labels import TASK_LABELS

KERNEL_COLOURS = ("#0072b2", "#56b4e9", "#e69f00", "#009e73", "#aa4499", "#d55e00")

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
            # The fastest mask where several methods were timed.
            timed = cells[cells["kernel"] == kernel].sort_values("value")[:1]
            line.append(DASH if timed.empty else "")
            for value, speedup in zip(timed["value"], timed["speedup"], strict=True):
                ratio = "" if pd.isna(speedup) else f" ({number(speedup, 2)}{TIMES})"
                line[-1] = number(value, 1 if value < 100 else 0) + ratio
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


def latency_figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Median microseconds against batch: a panel a part of the policy, a line a kernel.

    long: as `latency_long` returns it; the highest sparsity of the task is drawn. Both axes
    are logarithmic.
    """
    cells = highest_sparsity(long, task)
    kernels = kernels_in_order(cells)
    colours = dict(zip(kernels, KERNEL_COLOURS, strict=False))
    parts = list(dict.fromkeys(zip(cells["part"], cells["candidates"], strict=True)))
    batches = sorted(set(cells["batch"]))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 2.6 * len(parts), 3.3), layout="constrained")
        panels = figure.subplots(1, len(parts), sharex=True, squeeze=False)[0]
        for axes, (part, candidates) in zip(panels, parts, strict=True):
            panel = cells[(cells["part"] == part) & (cells["candidates"] == candidates)]
            for kernel in kernels:
                timed = panel[panel["kernel"] == kernel]
                if timed.empty:
                    continue
                # The fastest mask where several methods were timed.
                line = timed.groupby("batch", as_index=False)["value"].min()
                dense = kernel.endswith(" dense")
                look: dict[str, Any] = {"linestyle": (0, (4, 2)) if dense else "-", "marker": "o"}
                look |= {"color": colours.get(kernel, MUTED), "linewidth": 1.6, "markersize": 4}
                axes.plot(line["batch"], line["value"], label=kernel, **look)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks(batches, [f"{batch:g}" for batch in batches])
            # Whole decades, so that each panel has at least two ticks to read from.
            low, high = panel["value"].min(), panel["value"].max()
            axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.minorticks_off()
            axes.set_title(part_label(str(part), int(candidates)))
            axes.set_xlabel("batch (states a call)")
        panels[0].set_ylabel("microseconds a call")
        legend_below(figure, list(panels), columns=5)
    return figure

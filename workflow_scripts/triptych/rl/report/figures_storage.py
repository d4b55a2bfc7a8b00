"""Figure 4 (memory against sparsity) and the figure of latencies."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.report.tables import TIMES
from triptych.rl.report.labels import FORMAT_COLOURS, FORMAT_LABELS, NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.tables_latency import highest_sparsity, kernels_in_order, part_label

BREAK_EVEN_PERCENT = 80
"""Sparse indices take 20 bytes a weight kept (two int64 and a float32), dense takes 4."""

KERNEL_COLOURS = ("#0072b2", "#56b4e9", "#e69f00", "#009e73", "#aa4499", "#d55e00")


def memory_figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Megabytes of the stored file against sparsity: a panel a network, a line a format.

    long: as `sizes_long` returns it. Rings are the published numbers of Table 1. SNIP and
    GraSP keep the same number of weights; the line is the mean of the methods.
    """
    cells = long[long["task"] == task]
    if cells.empty:
        raise ValueError(f"no sizes of task {task}: {sorted(set(long['task']))}")
    networks = [name for name in NETWORK_LABELS if (cells["network"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 2.75 * len(networks), 3.4), layout="constrained")
        panels = figure.subplots(1, len(networks), sharex=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            _memory_panel(axes, cells[cells["network"] == network])
            axes.set_title(NETWORK_LABELS[network])
            axes.set_xlabel("weights pruned (%)")
        panels[0].set_ylabel(f"megabytes ({label(TASK_LABELS, task)})")
        legend_below(figure, list(panels), columns=5)
    return figure


def _memory_panel(axes: Axes, cells: pd.DataFrame) -> None:
    _annotations(axes, cells)
    for form, name in FORMAT_LABELS.items():
        line = (
            cells[cells["format"] == form]
            .groupby("sparsity_percent", as_index=False)["value"]
            .mean()
        )
        if line.empty:
            continue
        if form == "dense":
            # Zeros are stored like any other weight: one height at every sparsity.
            axes.axhline(
                line["value"].mean(),
                color=FORMAT_COLOURS[form],
                linewidth=1.8,
                label=name,
            )
            continue
        axes.plot(
            line["sparsity_percent"],
            line["value"],
            color=FORMAT_COLOURS[form],
            linewidth=1.8 if form == "coo" else 1.5,
            marker="o" if form == "coo" else ".",
            markersize=4,
            label=name,
        )
    printed = cells[cells["published"].notna()]
    axes.plot(
        printed["sparsity_percent"],
        printed["published"],
        linestyle="none",
        marker="o",
        markersize=8.5,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.1,
        label="published",
        zorder=4,
        clip_on=False,
    )
    axes.set_xlim(-3, 100)
    axes.set_xticks([0, 20, 40, 60, 80, 95])
    axes.set_ylim(0, None)


def _annotations(axes: Axes, cells: pd.DataFrame) -> None:
    """Where sparse formats begin to pay, and how much they save in the end."""
    axes.axvline(BREAK_EVEN_PERCENT, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
    axes.annotate(
        f"break-even {BREAK_EVEN_PERCENT} %",
        (BREAK_EVEN_PERCENT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="top",
        fontsize=7,
        color=MUTED,
    )
    axes.annotate(
        _savings(cells),
        (BREAK_EVEN_PERCENT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-17, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=7,
        linespacing=1.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        zorder=1,
        color=INK,
    )


def _savings(cells: pd.DataFrame) -> str:
    """How many times smaller than dense each format is at the highest sparsity."""
    dense = cells.loc[cells["format"] == "dense", "value"].mean()
    top = cells["sparsity_percent"].max()
    means = cells[cells["sparsity_percent"] == top].groupby("format")["value"].mean()
    lines = [
        f"{name}: {dense / means[form]:.1f}{TIMES}"
        for form, name in FORMAT_LABELS.items()
        if form != "dense" and form in means
    ]
    return "\n".join([f"smaller than dense at {top} %", *lines])


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
                axes.plot(
                    line["batch"],
                    line["value"],
                    color=colours.get(kernel, MUTED),
                    linewidth=1.6,
                    linestyle=(0, (4, 2)) if dense else "-",
                    marker="o",
                    markersize=4,
                    label=kernel,
                )
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

"""Figures 2, 4 and 5: losses by backbone and by optimizer, run times by content loss."""

import itertools
from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    CONTENT_LOSS_COLOURS,
    CONTENT_LOSS_DASHES,
    CONTENT_LOSS_LABELS,
    OPTIMIZER_COLOURS,
    OPTIMIZER_LABELS,
    RATES_LABELS,
)
from triptych.style.report.tables_history import backbone_name
from triptych.style.report.tables_times import BASELINE, NO_DIFFERENCE

LOSS_LABEL = "loss / first total loss"


def backbones_figure(long: pd.DataFrame) -> Figure:
    """Figure 2: the total loss by backbone, and what it is made of; logarithmic axes.

    long: as `history_long` returns it, for the experiment `backbones`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.4), layout="constrained")
        panels = list(figure.subplots(1, 3, sharex=True, sharey=True))
        for axes, term in zip(panels, ("total", "style", "content"), strict=True):
            of_term = long[long["term"] == term].sort_values("backbone", ascending=False)
            for run in dict.fromkeys(of_term["run"]):
                line = of_term[of_term["run"] == run]
                first = line.iloc[0]
                draw_loss(
                    axes,
                    line,
                    color=BACKBONE_COLOURS.get(first["backbone"], MUTED),
                    label=backbone_name(first["architecture"], first["weights"]),
                )
            axes.set_title(f"{term} loss".capitalize())
            axes.set_xlabel("evaluations")
        panels[0].set_ylabel(LOSS_LABEL)
        legend_below(figure, panels, columns=4)
    return figure


def optimizers_figure(long: pd.DataFrame) -> Figure:
    """Figure 5: the total loss by optimizer, a panel for the authors' and for tuned rates, and a
    row of them for each backbone.

    long: as `history_long` returns it, for the experiment `optimizers`. A cross marks where
    a run diverged or stopped being finite.
    """
    rates = [name for name in RATES_LABELS if (long["rates"] == name).any()]
    with matplotlib.rc_context(STYLE):
        backbones = list(dict.fromkeys(zip(long["architecture"], long["weights"], strict=True)))
        size = (1.2 + 3.7 * len(rates), 0.6 + 2.9 * len(backbones))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(backbones), len(rates), sharex=True, sharey=True, squeeze=False)
        panels = list(grid.flat)
        shown = itertools.product(backbones, rates)
        for axes, ((architecture, weights), name) in zip(panels, shown, strict=True):
            totals = long[(long["rates"] == name) & (long["term"] == "total")]
            totals = totals[totals["architecture"] == architecture]
            for optimizer in OPTIMIZER_LABELS:
                line = totals[totals["optimizer"] == optimizer]
                if line.empty:
                    continue
                draw_loss(
                    axes,
                    line,
                    color=OPTIMIZER_COLOURS[optimizer],
                    label=OPTIMIZER_LABELS[optimizer],
                )
            title = RATES_LABELS[name].capitalize()
            several = len(backbones) > 1
            axes.set_title(f"{backbone_name(architecture, weights)}, {title}" if several else title)
        for axes in grid[-1]:
            axes.set_xlabel("evaluations")
        for axes in grid[:, 0]:
            axes.set_ylabel(LOSS_LABEL)
        legend_below(figure, panels, columns=4)
    return figure


def draw_loss(axes: Axes, line: pd.DataFrame, *, color: str, label: str, **how: Any) -> None:
    """One run's loss against evaluations on a logarithmic axis; what is 0 or not finite is left
    out, and a run that ended so has a cross at its last finite loss."""
    finite = line[np.isfinite(line["value"]) & (line["value"] > 0)].sort_values("evaluation")
    axes.plot(finite["evaluation"], finite["value"], color=color, linewidth=1.5, label=label, **how)
    if len(finite) and line["status"].iloc[0] != "finished":
        axes.plot(
            finite["evaluation"].iloc[-1:],
            finite["value"].iloc[-1:],
            color=color,
            marker="x",
            markersize=7,
            markeredgewidth=1.8,
            linestyle="none",
            label="stopped: diverged or not finite",
        )
    logarithmic(axes)
    axes.grid(axis="x", visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def logarithmic(axes: Axes) -> None:
    """A logarithmic axis whose ticks are plain numbers: decades, or 1, 2 and 5 within a few."""
    axes.set_yscale("log")
    low, high = (float(end) for end in axes.dataLim.intervaly)
    few = np.isfinite([low, high]).all() and low > 0 and high < 30 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def loss_times_figure(times: pd.DataFrame, trends: pd.DataFrame) -> Figure:
    """Figure 4: seconds by content loss (axis from zero), their paired differences with
    intervals, and the loss that each of them reaches.

    times: as `loss_times_long` returns it. trends: `history_long` of the experiment `losses`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.5), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1.15))
        _seconds(left, times)
        _differences(middle, times)
        totals = trends[trends["term"] == "total"]
        for loss in losses_in_order(totals):
            line = totals[totals["content_loss"] == loss]
            draw_loss(
                right,
                line,
                color=CONTENT_LOSS_COLOURS.get(loss, MUTED),
                label=label(CONTENT_LOSS_LABELS, loss),
                linestyle=CONTENT_LOSS_DASHES.get(loss, "solid"),
            )
        right.set_title("Total loss")
        right.set_xlabel("evaluations")
        right.set_ylabel(LOSS_LABEL)
        right.legend(loc="upper right")
    return figure


def losses_in_order(times: pd.DataFrame) -> list[str]:
    """The content losses that were timed, in the paper's order, then others by name."""
    present = set(times["content_loss"])
    return [n for n in CONTENT_LOSS_LABELS if n in present] + sorted(
        present - set(CONTENT_LOSS_LABELS)
    )


def _ticks(losses: list[str]) -> Mapping[str, int]:
    return {loss: place for place, loss in enumerate(losses)}


def _seconds(axes: Axes, times: pd.DataFrame) -> None:
    place = _ticks(losses_in_order(times))
    repeats = times[times["statistic"] == "seconds"]
    for _, line in repeats.groupby("repeat"):
        ordered = line.sort_values("content_loss", key=lambda names: names.map(place))
        # What one round of repeats shares, such as a busy machine, moves its whole line.
        axes.plot(
            ordered["content_loss"].map(place), ordered["value"], color="#c5ccd3", linewidth=0.7
        )
    for loss, x in place.items():
        cells = repeats[repeats["content_loss"] == loss]["value"]
        colour = CONTENT_LOSS_COLOURS.get(loss, MUTED)
        axes.bar(x, cells.mean(), width=0.62, color=colour, alpha=0.28, zorder=1)
        axes.plot(
            np.full(len(cells), x), cells, linestyle="none", marker="o", markersize=3, color=colour
        )
        axes.annotate(
            f"{cells.mean():.3g}",
            (x, 0),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=7.2,
            color=INK,
        )
    axes.set_xticks(list(place.values()), [label(CONTENT_LOSS_LABELS, loss) for loss in place])
    axes.set_ylim(0, repeats["value"].max() * 1.08)
    axes.grid(axis="x", visible=False)
    first = repeats.iloc[0]
    axes.set_ylabel(
        f"seconds for {int(first['evaluations'])} evaluations at {int(first['size'])} px"
    )
    axes.set_title("Run time")


def _differences(axes: Axes, times: pd.DataFrame) -> None:
    paired = times[times["statistic"] == "difference_percent"]
    losses = losses_in_order(paired)
    axes.axvline(0, color=MUTED, linewidth=1)
    for y, loss in enumerate(losses):
        row = paired[paired["content_loss"] == loss].iloc[0]
        colour = CONTENT_LOSS_COLOURS.get(loss, MUTED)
        if np.isfinite(row["low"]):
            axes.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2.2)
        axes.plot([row["value"]], [y], color=colour, marker="o", markersize=5)
        axes.annotate(
            row["verdict"],
            (0.02, y),
            xycoords=("axes fraction", "data"),
            xytext=(0, 9),
            textcoords="offset points",
            fontsize=7.2,
            color=MUTED if row["verdict"] == NO_DIFFERENCE else INK,
        )
    ends = paired[["low", "high", "value"]].to_numpy(dtype=float)
    reach = 1.25 * max(float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0)), 1.0)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(len(losses) - 0.5, -0.6)
    axes.set_yticks(range(len(losses)), [label(CONTENT_LOSS_LABELS, loss) for loss in losses])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference in percent, 95% interval")
    axes.set_title(f"Against {label(CONTENT_LOSS_LABELS, BASELINE)}, paired")

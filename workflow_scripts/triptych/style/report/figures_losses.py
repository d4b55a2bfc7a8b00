"""Figures 2, 4 and 5: losses by backbone and by optimizer, run times by content loss."""

import itertools
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from triptych.report.palette import INK, MUTED, STYLE, legend_below
from triptych.report.statistics import ratio_interval
from triptych.report.tables import with_cells
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    CONTENT_LOSS_LOOKS,
    OPTIMIZER_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.panels import Files, saying_missing
from triptych.style.report.runs import backbone_name

LOSS_LABEL = "loss / first total loss"
BASELINE = "mse"
NO_DIFFERENCE = "no difference"


@saying_missing
def backbones_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 2: the total loss by backbone, and what it is made of; logarithmic axes.

    long: as `history_long` returns it, for the experiment `backbones`. files: its pictures.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.4), layout="constrained")
        panels = list(figure.subplots(1, 3, sharex=True, sharey=True))
        for axes, term in zip(panels, ("total", "style", "content"), strict=True):
            of_term = long[long["term"] == term].sort_values("backbone", ascending=False)
            for _, line in of_term.groupby("run", sort=False):
                first = line.iloc[0]
                named = backbone_name(first["architecture"], first["weights"])
                draw_loss(axes, line, color=BACKBONE_COLOURS[first["backbone"]], label=named)
            axes.set_title(f"{term} loss".capitalize())
            axes.set_xlabel("evaluations")
        panels[0].set_ylabel(LOSS_LABEL)
        legend_below(figure, panels, columns=4)
    return figure


@saying_missing
def optimizers_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 5: the total loss by optimizer, a panel for the authors' and for tuned rates, and a
    row of them for each backbone. long: as `history_long` returns it, for `optimizers`. files: its
    pictures."""
    rates = [name for name in RATES_LABELS if (long["rates"] == name).any()]
    backbones = list(dict.fromkeys(zip(long["architecture"], long["weights"], strict=True)))
    with matplotlib.rc_context(STYLE):
        size = (1.2 + 3.7 * len(rates), 0.6 + 2.9 * len(backbones))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(backbones), len(rates), sharex=True, sharey=True, squeeze=False)
        shown = itertools.product(backbones, rates)
        for axes, ((architecture, weights), name) in zip(grid.flat, shown, strict=True):
            totals = long[(long["rates"] == name) & (long["term"] == "total")]
            totals = totals[totals["architecture"] == architecture]
            for optimizer, look in OPTIMIZER_LOOKS.items():
                line = totals[totals["optimizer"] == optimizer]
                if len(line):
                    draw_loss(axes, line, color=look.colour, label=look.label)
            title = RATES_LABELS[name].capitalize()
            several = len(backbones) > 1
            axes.set_title(f"{backbone_name(architecture, weights)}, {title}" if several else title)
        for axes in grid[-1]:
            axes.set_xlabel("evaluations")
        for axes in grid[:, 0]:
            axes.set_ylabel(LOSS_LABEL)
        legend_below(figure, list(grid.flat), columns=4)
    return figure


def draw_loss(axes: Axes, line: pd.DataFrame, *, color: str, label: str, **how: Any) -> None:
    """One run's loss against evaluations on a logarithmic axis; what is 0 or not finite is left
    out, and a run that ended so has a cross at its last finite loss."""
    finite = line[np.isfinite(line["value"]) & (line["value"] > 0)].sort_values("evaluation")
    axes.plot(finite["evaluation"], finite["value"], color=color, linewidth=1.5, label=label, **how)
    if len(finite) and line["status"].iloc[0] != "finished":
        cross: dict[str, Any] = {
            "marker": "x",
            "markersize": 7,
            "markeredgewidth": 1.8,
            "linestyle": "none",
        }
        axes.plot(
            *(finite[column].iloc[-1:] for column in ("evaluation", "value")),
            color=color,
            label="stopped: diverged or not finite",
            **cross,
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


def loss_times_long(timing: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Seconds of every repeat by content loss, and each loss's paired difference to MSE.

    timing: rows of timing/losses.csv, all losses once in each repeat. `statistic` is `seconds` (a
    row a repeat) or `difference_percent` (a row a loss: the ratio of mean seconds to MSE's less
    one, with its 95% interval over paired repeats, and a verdict).
    """
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    rows = []
    for loss in wide.columns.drop(BASELINE):
        both = wide[[loss, BASELINE]].dropna()
        ratio = ratio_interval(both[loss].to_numpy(), both[BASELINE].to_numpy())
        low, high = 100 * (ratio.low - 1), 100 * (ratio.high - 1)
        rows.append(
            {
                "content_loss": loss,
                "statistic": "difference_percent",
                "repeats": len(both),
                "value": 100 * (ratio.estimate - 1),
                "low": low,
                "high": high,
                "verdict": time_verdict(low, high),
                **timing.iloc[0][["evaluations", "size", "device"]],
            }
        )
    seconds = timing.rename(columns={"seconds": "value"}).assign(statistic="seconds")
    columns = ["statistic", "content_loss", "repeat", "evaluations", "size", "device", "value"]
    parts = ((seconds[columns], "seconds"), (pd.DataFrame(rows), "percent"))
    cells = [with_cells(part, unit=unit, scale=scale) for part, unit in parts]
    return pd.concat(cells, ignore_index=True)


def time_verdict(low: float, high: float) -> str:
    """Verdict on an interval of a difference in time."""
    if np.isnan(low):
        return "one repeat: no verdict"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else NO_DIFFERENCE


def loss_times_figure(times: pd.DataFrame, trends: pd.DataFrame) -> Figure:
    """Figure 4: seconds by content loss (axis from zero), their paired differences with
    intervals, and the loss that each of them reaches.

    times: as `loss_times_long` returns it. trends: `history_long` of the experiment `losses`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.5), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1.15))
        _seconds(left, times[times["statistic"] == "seconds"])
        _differences(middle, times[times["statistic"] == "difference_percent"])
        totals = trends[trends["term"] == "total"]
        for loss in _in_order(totals):
            look = CONTENT_LOSS_LOOKS[loss]
            draw_loss(
                right,
                totals[totals["content_loss"] == loss],
                color=look.colour,
                label=look.label,
                linestyle=look.dash,
            )
        right.set(title="Total loss", xlabel="evaluations", ylabel=LOSS_LABEL)
        right.legend(loc="upper right")
    return figure


def _in_order(frame: pd.DataFrame) -> list[str]:
    """Its content losses in the paper's order."""
    return [name for name in CONTENT_LOSS_LOOKS if (frame["content_loss"] == name).any()]


def _seconds(axes: Axes, repeats: pd.DataFrame) -> None:
    place = {loss: x for x, loss in enumerate(_in_order(repeats))}
    repeats = repeats.assign(x=repeats["content_loss"].map(place)).sort_values(["repeat", "x"])
    for _, line in repeats.groupby("repeat"):
        # What one round of repeats shares, such as a busy machine, moves its whole line.
        axes.plot(line["x"], line["value"], color="#c5ccd3", linewidth=0.7)
    for loss, cells in repeats.groupby("content_loss"):
        draw_bar(axes, place[str(loss)], cells["value"], CONTENT_LOSS_LOOKS[str(loss)].colour)
    axes.set_xticks(list(place.values()), [CONTENT_LOSS_LOOKS[loss].label for loss in place])
    axes.set_ylim(0, repeats["value"].max() * 1.08)
    axes.grid(axis="x", visible=False)
    evaluations, size = (int(repeats[name].iloc[0]) for name in ("evaluations", "size"))
    axes.set(title="Run time", ylabel=f"seconds for {evaluations} evaluations at {size} px")


def draw_bar(axes: Axes, x: int, values: pd.Series, colour: str) -> None:
    """A bar as high as the values' mean, which is written at its foot, and a dot for each."""
    axes.bar(x, values.mean(), width=0.6, color=colour, alpha=0.28, zorder=1)
    axes.plot([x] * len(values), values, "o", markersize=3, color=colour)
    place: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center"}
    axes.annotate(f"{values.mean():.3g}", (x, 0), fontsize=7.2, color=INK, **place)


def _differences(axes: Axes, paired: pd.DataFrame) -> None:
    losses = _in_order(paired)
    # An interval of noisy times may have no end: it is drawn to the edge.
    magnitudes = paired[["low", "high", "value"]].replace([np.inf, -np.inf], np.nan).abs()
    reach = 1.25 * max(float(np.nanmax(magnitudes.to_numpy(), initial=0.0)), 1.0)
    axes.axvline(0, color=MUTED, linewidth=1)
    for y, loss in enumerate(losses):
        row = paired[paired["content_loss"] == loss].iloc[0]
        colour = CONTENT_LOSS_LOOKS[loss].colour
        ends = np.clip([row["low"], row["high"]], -reach, reach)
        axes.plot(ends, [y, y], color=colour, linewidth=2.2)
        axes.plot([row["value"]], [y], color=colour, marker="o", markersize=5)
        shade = MUTED if row["verdict"] == NO_DIFFERENCE else INK
        place: dict[str, Any] = {"xytext": (0, 9), "textcoords": "offset points"}
        place["xycoords"] = ("axes fraction", "data")
        axes.annotate(row["verdict"], (0.02, y), fontsize=7.2, color=shade, **place)
    axes.set(xlim=(-reach, reach), ylim=(len(losses) - 0.5, -0.6))
    axes.set_yticks(range(len(losses)), [CONTENT_LOSS_LOOKS[loss].label for loss in losses])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference in percent, 95% interval")
    axes.set_title(f"Against {CONTENT_LOSS_LOOKS[BASELINE].label}, paired")

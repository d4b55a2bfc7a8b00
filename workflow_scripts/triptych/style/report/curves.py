"""Losses of Version 1 against evaluations."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from triptych.report.palette import count_axis, legend_below
from triptych.style.report.labels import Look

BELOW_THE_ENDS = 10.0
"""How far a loss axis goes below the lowest last loss."""


def loss_figure(lines: pd.DataFrame) -> Figure:
    """Loss curves in panels side by side, as `draw_panels` draws them."""
    count = lines["panel"].nunique()
    figure = Figure(figsize=(max(1.2 + 3.7 * count, 8.6), 3.4), layout="constrained")
    row = list(figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0])
    draw_panels(row, lines)
    # A content loss begins at 0, and its first values would stretch the axis over what follows.
    drawn = lines[np.isfinite(lines["value"]) & (lines["value"] > 0)].sort_values("evaluation")
    ends = drawn.groupby(["panel", "run"])["value"].last()
    row[0].set_ylim(bottom=np.nanmax([row[0].get_ylim()[0], ends.min() / BELOW_THE_ENDS]))
    legend_below(figure, row, columns=4)
    return figure


def with_looks(lines: pd.DataFrame, column: str, looks: Mapping[str, Look]) -> pd.DataFrame:
    """Lines with the label, colour and dash of the methods that a column names."""
    columns = {
        name: [getattr(looks[method], name) for method in lines[column]]
        for name in ("label", "colour", "dash")
    }
    return lines.assign(**columns)


def draw_panels(axes: Sequence[Axes], lines: pd.DataFrame) -> None:
    """Draw losses, rows of `history_long` with `panel` (its title), `label`, `colour` and perhaps
    `dash`: a panel each on these axes, a line for each run."""
    for panel, (title, of_panel) in zip(axes, lines.groupby("panel", sort=False), strict=True):
        for _, line in of_panel.groupby("run", sort=False):
            _draw_loss(panel, line)
        panel.set(title=title, xlabel="evaluations")
    axes[0].set_ylabel("loss / first total loss")


def _draw_loss(axes: Axes, line: pd.DataFrame) -> None:
    """One run's loss against evaluations on a logarithmic axis; what is 0 or not finite is left
    out, and a run that ended so has a cross at its last finite loss."""
    first = line.iloc[0]
    how = {"color": first["colour"], "linestyle": first.get("dash", "solid")}
    finite = line[np.isfinite(line["value"]) & (line["value"] > 0)].sort_values("evaluation")
    axes.plot(finite["evaluation"], finite["value"], linewidth=1.5, label=first["label"], **how)
    if len(finite) and first["status"] != "finished":
        end = finite.tail(1)
        how = {"color": first["colour"], "label": "stopped: diverged or not finite"}
        axes.plot(end["evaluation"], end["value"], "x", markersize=7, **how)
    logarithmic(axes)
    axes.grid(axis="x", visible=False)
    count_axis(axes)


def logarithmic(axes: Axes) -> None:
    """A logarithmic axis whose ticks are plain numbers: decades, or 1, 2 and 5 within a few."""
    axes.set_yscale("log")
    low, high = (float(end) for end in axes.dataLim.intervaly)
    few = np.isfinite([low, high]).all() and low > 0 and high < 30 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())

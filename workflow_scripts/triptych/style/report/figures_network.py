"""The figure of the training of Version 2."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.report.palette import INK, STYLE, spoken
from triptych.report.tables import with_cells
from triptych.style.report.figures_losses import logarithmic
from triptych.style.report.labels import (
    TERM_COLOURS,
    VARIANT_COLOURS,
)
from triptych.style.report.panels import Panel, picture_figure, read_picture

SMOOTHING = 0.05


def training_long(losses: pd.DataFrame, selection: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Training loss of every batch and held-out loss of every checkpoint, a row a term, of rows of
    losses.csv and selection.csv; `chosen` marks the checkpoint that was kept."""
    parts = []
    for name, frame in (("training", losses), ("held-out", selection)):
        keys = ["painting", "variant", "batch", *(["chosen"] if "chosen" in frame else [])]
        long = frame.melt(keys, ["total", "style", "content"], "term", "value")
        long.insert(0, "on", name)
        parts.append(with_cells(long, unit="weighted loss", scale=scale))
    together = pd.concat(parts, ignore_index=True)
    together["chosen"] = together["chosen"].astype(str).str.lower() == "true"
    return together


def training_figure(long: pd.DataFrame, samples: Mapping[str, Path]) -> Figure:
    """Losses in training and on held-out images, below pairs of a training image and its stylised
    version. long: as `training_long` returns it. samples: sample sheets by their title."""
    rows = [[Panel(read_picture(path), title)] for title, path in samples.items()]
    figure, (left, right) = picture_figure(rows, tallest=3.4, charts=2, chart_height=2.2)
    with matplotlib.rc_context(STYLE):
        _training(left, long[long["on"] == "training"])
        left.set(title="Training loss", ylabel="weighted loss")
        _held_out(right, long[(long["on"] == "held-out") & (long["term"] == "total")])
        right.set_title("Held-out loss by checkpoint")
        for axes in (left, right):
            logarithmic(axes)
            axes.set_xlabel("batches")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda batch, _: f"{batch:,.0f}"))
            axes.grid(axis="x", visible=False)
            axes.legend(loc="best", fontsize=7.2, frameon=True, framealpha=0.85, edgecolor="none")
    return figure


def _training(axes: Axes, training: pd.DataFrame) -> None:
    """Each term's loss of every batch, thin, and its running median."""
    for term, colour in TERM_COLOURS.items():
        of_term = training[training["term"] == term].sort_values("batch")
        for number, (_, line) in enumerate(of_term.groupby("painting", sort=False)):
            window = max(int(SMOOTHING * len(line)), 1)
            median = line["value"].rolling(window, 1).median()
            axes.plot(line["batch"], line["value"], color=colour, linewidth=0.5, alpha=0.25)
            named = None if number else term
            axes.plot(line["batch"], median, color=colour, linewidth=1.6, label=named)


def _held_out(axes: Axes, totals: pd.DataFrame) -> None:
    """The total loss of every checkpoint, the chosen ones ringed."""
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK}
    colour = VARIANT_COLOURS["plain"]
    for painting, line in totals.groupby("painting", sort=False):
        ordered, named = line.sort_values("batch"), spoken(str(painting))
        axes.plot(*_columns(ordered, "batch"), "o-", color=colour, markersize=3.5, label=named)
        chosen = ordered[ordered["chosen"]]
        axes.plot(*_columns(chosen, "batch"), "o", markersize=9, label="chosen", **ring)


def _columns(line: pd.DataFrame, across: str) -> tuple[pd.Series, pd.Series]:
    return line[across], line["value"]

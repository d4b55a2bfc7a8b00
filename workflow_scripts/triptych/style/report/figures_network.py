"""Figures of Version 2: its training, and its videos."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.report.palette import INK, MUTED, STYLE, spoken
from triptych.report.tables import with_cells
from triptych.style.report.figures_losses import draw_bar, logarithmic
from triptych.style.report.labels import (
    TERM_COLOURS,
    VARIANT_COLOURS,
    VARIANT_LABELS,
    network_title,
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


def video_long(flicker: pd.DataFrame, speed: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Flicker of every frame (`flicker_ratio`: warped error of the stylised frames over that of the
    source) and frames per second of every repeat, of rows of flicker.csv and speed.csv."""
    ratios = flicker.rename(columns={"ratio": "value"}).assign(measure="flicker_ratio")
    rates = speed.rename(columns={"frames_per_second": "value"}).assign(measure="frames_per_second")
    parts = ((ratios, "stylised / source"), (rates, "frames per second"))
    cells = [with_cells(part, unit=unit, scale=scale) for part, unit in parts]
    return pd.concat(cells, ignore_index=True)


def video_figure(long: pd.DataFrame, strips: Sequence[str | Path]) -> Figure:
    """Strips of frames, in folders {painting}/{variant}, above flicker by frame and speed by
    batch."""
    rows: list[list[Panel]] = []
    for path in strips:
        strip = read_picture(path)
        source, stylised = np.split(strip, [strip.shape[0] // 2])
        # Every strip shows the same frames of the source above its own.
        if not rows:
            rows.append([Panel(source, "Source")])
        rows.append([Panel(stylised, network_title(path))])
    figure, (left, right) = picture_figure(rows, tallest=2.4, charts=2, chart_height=2.0)
    with matplotlib.rc_context(STYLE):
        _flicker(left, long[long["measure"] == "flicker_ratio"])
        _speed(right, long[long["measure"] == "frames_per_second"])
    return figure


def _flicker(axes: Axes, flicker: pd.DataFrame) -> None:
    for key, rows in flicker.dropna(subset="value").groupby(["painting", "variant"], sort=False):
        line, (painting, variant) = rows.sort_values("frame"), map(str, key)
        named = f"{spoken(painting)}, {VARIANT_LABELS[variant]}: mean {line['value'].mean():.2f}"
        colour = VARIANT_COLOURS[variant]
        axes.plot(*_columns(line, "frame"), color=colour, linewidth=1.3, label=named)
    dashes = (0, (2, 2))
    axes.axhline(1, color=MUTED, linewidth=0.9, linestyle=dashes, label="as steady as the source")
    count = 1 + flicker.groupby(["painting", "variant"]).ngroups
    # Room for the legend above the lines; a film that stands still has no ratio, only NaN.
    axes.set_ylim(0, max(1.0, float(flicker["value"].max())) * (1.1 + 0.1 * count))
    axes.set(title="Flicker", xlabel="frame", ylabel="warped error / the source's own")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", fontsize=7.2)


def _speed(axes: Axes, cells: pd.DataFrame) -> None:
    batches = sorted(set(cells["batch"]))
    for place, batch in enumerate(batches):
        draw_bar(axes, place, cells[cells["batch"] == batch]["value"], VARIANT_COLOURS["plain"])
    axes.set_xticks(range(len(batches)), [f"{batch:g}" for batch in batches])
    axes.set(xlim=(-0.7, max(len(batches) - 0.3, 0.7)), ylim=(0, None), title="Speed")
    axes.grid(axis="x", visible=False)
    axes.set(xlabel="frames stylised at once", ylabel="frames a second")

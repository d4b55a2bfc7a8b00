"""Figures of Version 2: its training, and its videos."""

from collections.abc import Mapping, Sequence
from pathlib import Path

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
WIDEST_ROW = 3.2


def training_long(losses: pd.DataFrame, selection: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Training loss of every batch and held-out loss of every checkpoint, a row a term.

    losses, selection: rows of losses.csv and selection.csv of networks trained in this run.
    `on` is `training` or `held-out`; `chosen` marks the checkpoint that was kept.
    """
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
    """Losses in training and on held-out images, below pairs of a training image and its
    stylised version.

    long: as `training_long` returns it. samples: sample sheets by their title.
    """
    rows = [[Panel(read_picture(path), title)] for title, path in samples.items()]
    figure, (left, right) = picture_figure(rows, tallest=3.4, charts=2, chart_height=2.2)
    variants = [name for name in VARIANT_LABELS if (long["variant"] == name).any()]
    with matplotlib.rc_context(STYLE):
        first = (long["on"] == "training") & (long["variant"] == variants[0])
        _training(left, long[first])
        left.set_title(f"Training loss, {VARIANT_LABELS[variants[0]]}")
        left.set_ylabel("weighted loss")
        for variant in variants:
            _held_out(right, long[(long["on"] == "held-out") & (long["variant"] == variant)])
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


def _held_out(axes: Axes, cells: pd.DataFrame) -> None:
    """The total loss of every checkpoint of one variant, the chosen ones ringed."""
    for painting, line in cells[cells["term"] == "total"].groupby("painting", sort=False):
        ordered, variant = line.sort_values("batch"), str(line["variant"].iloc[0])
        axes.plot(
            ordered["batch"],
            ordered["value"],
            color=VARIANT_COLOURS[variant],
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            label=f"{spoken(str(painting))}, {VARIANT_LABELS[variant]}",
        )
        kept = ordered[ordered["chosen"]]
        axes.plot(
            kept["batch"],
            kept["value"],
            linestyle="none",
            marker="o",
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=1.1,
            label=None if variant != "plain" else "chosen",
        )


def checkpoints_long(selection: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Held-out total loss of every checkpoint of the networks trained in this run."""
    long = selection.rename(columns={"total": "value"})
    long["chosen"] = long["chosen"].astype(str).str.lower() == "true"
    return with_cells(long, unit="weighted loss", scale=scale)


def checkpoints_figure(
    long: pd.DataFrame, *, trained: Sequence[str | Path], shipped: Sequence[str | Path]
) -> Figure:
    """Contact sheets, shipped ones below: one photograph through all checkpoints of a network.

    long: as `checkpoints_long` returns it. trained: files in folders {painting}/{variant}.
    shipped: files {painting}.png, which come with the repository.
    """
    made, carried = [], []
    for path in map(Path, trained):
        painting, variant = path.parent.parent.name, path.parent.name
        of_network = long[(long["painting"] == painting) & (long["variant"] == variant)]
        kept = of_network[of_network["chosen"]]["batch"]
        note = f"chosen on held-out images: batch {kept.iloc[0]:,}" if len(kept) else ""
        made.append(Panel(read_picture(path), network_title(path), note))
    for path in map(Path, shipped):
        title = f"{spoken(path.stem)}, {VARIANT_LABELS['shipped']}"
        carried.append(Panel(read_picture(path), title, "comes with the repository"))
    return picture_figure([*sheet_rows(made), *sheet_rows(carried)], tallest=6.0)[0]


def sheet_rows(sheets: Sequence[Panel]) -> list[list[Panel]]:
    """Contact sheets in rows about as wide as two or three squares: tall ones side by side."""
    rows: list[list[Panel]] = []
    width = 0.0
    for sheet in sheets:
        if not rows or width + sheet.aspect > WIDEST_ROW:
            rows.append([])
            width = 0.0
        rows[-1].append(sheet)
        width += sheet.aspect
    return rows


def video_long(flicker: pd.DataFrame, speed: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Flicker of every frame and frames per second of every repeat.

    flicker, speed: rows of flicker.csv and speed.csv. `measure` is `flicker_ratio` (warped
    error of the stylised frames over that of the source) or `frames_per_second`.
    """
    ratios = flicker.rename(columns={"ratio": "value"}).assign(measure="flicker_ratio")
    rates = speed.rename(columns={"frames_per_second": "value"}).assign(measure="frames_per_second")
    return pd.concat(
        [
            with_cells(ratios, unit="stylised / source", scale=scale),
            with_cells(rates, unit="frames per second", scale=scale),
        ],
        ignore_index=True,
    )


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
    for variant, name in VARIANT_LABELS.items():
        of_variant = flicker[(flicker["variant"] == variant) & flicker["value"].notna()]
        for painting, line in of_variant.groupby("painting", sort=False):
            ordered = line.sort_values("frame")
            axes.plot(
                ordered["frame"],
                ordered["value"],
                color=VARIANT_COLOURS[variant],
                linewidth=1.3,
                label=f"{spoken(str(painting))}, {name}: mean {ordered['value'].mean():.2f}",
            )
    dashes = (0, (2, 2))
    axes.axhline(1, color=MUTED, linewidth=0.9, linestyle=dashes, label="as steady as the source")
    drawn = 1 + flicker.groupby(["painting", "variant"]).ngroups
    # Room for the legend above the lines.
    axes.set_ylim(0, max(float(flicker["value"].max()), 1.0) * (1.1 + 0.1 * drawn))
    axes.set_xlabel("frame")
    axes.set_ylabel("warped error / the source's own")
    axes.set_title("Flicker")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left", fontsize=7.2)


def _speed(axes: Axes, cells: pd.DataFrame) -> None:
    batches = sorted(set(cells["batch"]))
    for place, batch in enumerate(batches):
        draw_bar(axes, place, cells[cells["batch"] == batch]["value"], VARIANT_COLOURS["plain"])
    axes.set_xticks(range(len(batches)), [f"{batch:g}" for batch in batches])
    axes.set_xlim(-0.7, max(len(batches) - 0.3, 0.7))
    axes.grid(axis="x", visible=False)
    axes.set_ylim(0, None)
    axes.set_xlabel("frames stylised at once")
    axes.set_ylabel("frames a second")
    axes.set_title("Speed")

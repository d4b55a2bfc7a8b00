"""Beyond the paper: training a network.

Networks trained in this run. Top: by checkpoint, a random training image, its stylised version, and
one photograph in every style, the same for all checkpoints. Bottom left: training loss of every
batch (thin) and its running median (thick). Bottom right: loss on held-out images at every
checkpoint; the ring marks the checkpoint that was chosen.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import INK, count_axis, spoken, styled, write_figure
from triptych.report.tables import with_cells
from triptych.style.report.curves import logarithmic
from triptych.style.report.labels import TERM_COLOURS, network_title
from triptych.style.report.panels import TEXT_HEIGHT, WIDTH, Panel, draw_panel, read_picture

CHART_HEIGHT, TALLEST_SHEET = 2.9, 3.4  # inches
SMOOTHING = 0.05
"""Share of a training's batches over which the running median of its loss is taken."""
RING: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK}


def numbers(losses: pd.DataFrame, selection: pd.DataFrame, *, scale: str) -> pd.DataFrame:
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


@styled
def figure(long: pd.DataFrame, samples: Mapping[str, Path]) -> Figure:
    """Losses in training and on held-out images, below pairs of a training image and its stylised
    version. long: as `numbers` returns it. samples: sample sheets by their title."""
    sheets = [Panel(read_picture(path), title) for title, path in samples.items()]
    heights = [min(TALLEST_SHEET, WIDTH / sheet.aspect) for sheet in sheets]
    ratios = [*(height + TEXT_HEIGHT for height in heights), CHART_HEIGHT]
    figure = Figure(figsize=(WIDTH, sum(ratios)), layout="constrained")
    places: Any = [*([sheet.title] * 2 for sheet in sheets), ["training", "held out"]]
    axes = figure.subplot_mosaic(places, height_ratios=ratios)
    for sheet, height in zip(sheets, heights, strict=True):
        draw_panel(axes[sheet.title], sheet, height, sheet.aspect)
    left, right = axes["training"], axes["held out"]
    training, held_out = (
        long[long["on"] == part].sort_values("batch", kind="stable")
        for part in ("training", "held-out")
    )
    for (_, term), line in training.groupby(["painting", "term"], sort=False):
        colour = TERM_COLOURS[str(term)]
        median = line["value"].rolling(max(int(SMOOTHING * len(line)), 1), 1).median()
        left.plot(line["batch"], line["value"], color=colour, linewidth=0.5, alpha=0.25)
        named = None if term in left.get_legend_handles_labels()[1] else term
        left.plot(line["batch"], median, color=colour, linewidth=1.6, label=named)
    totals = held_out[held_out["term"] == "total"]
    for painting, line in totals.groupby("painting", sort=False):
        right.plot(line["batch"], line["value"], "o-", markersize=3.5, label=spoken(str(painting)))
    chosen = totals[totals["chosen"]]
    right.plot(chosen["batch"], chosen["value"], "o", **RING, label="chosen")
    left.set(title="Training loss", ylabel="weighted loss")
    right.set_title("Held-out loss by checkpoint")
    for chart in (left, right):
        logarithmic(chart)
        chart.set_xlabel("batches")
        count_axis(chart)
        chart.grid(axis="x", visible=False)
        chart.legend(loc="best", fontsize=7.2, frameon=True, framealpha=0.85, edgecolor="none")
    return figure


if __name__ == "__main__":
    with job(snakemake):
        inputs, scale = snakemake.input, snakemake.params.scale
        long = numbers(read_frames(inputs.losses), read_frames(inputs.selection), scale=scale)
        samples = {network_title(path): Path(path) for path in inputs.samples}
        write_figure(figure(long, samples), long, snakemake.output)

"""Figure 2. Validation loss during fine-tuning.

Left, the paper's Figure 2: validation loss of the main pair after each epoch of fine-tuning with
human captions and with captions swapped for new ones. Right, beyond the paper: validation mAP@10 of
the same runs, on an axis that does not start at zero. Line: mean over runs; bars and band: lowest
to highest run. The two kinds of captions are drawn a little apart.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.audio.report.rows import (
    CAPTION_LABELS,
    FINETUNING,
    SHAPES,
    AudioStudy,
    of_pair,
    read_rows,
)
from triptych.core.job import job
from triptych.report.palette import count_axis, legend_below, styled, write_figure
from triptych.report.tables import with_cells

# Okabe and Ito's palette, told apart by every common form of colour vision.
COLOURS = {"human": "#d55e00", "gpt": "#0072b2"}


def numbers(history: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Mean, least and greatest of the main pair's runs by epoch, a row a measure.

    history: rows of history.csv.
    """
    ours = of_pair(history[history["corpus"] == study.evaluated], study.main, "finetuned")
    parts = []
    for measure, (_, unit, factor) in FINETUNING.items():
        runs = (factor * ours[measure]).groupby([ours["captions"], ours["epoch"]])
        cells = runs.agg(value="mean", minimum="min", maximum="max", runs="size").reset_index()
        cells.insert(0, "measure", measure)
        parts.append(with_cells(cells, unit=unit, scale=scale))
    return pd.concat(parts, ignore_index=True)


@styled
def figure(long: pd.DataFrame) -> Figure:
    """Validation loss and mAP@10 by epoch, mean and range over runs."""
    drawn = Figure(figsize=(8.6, 3.5), layout="constrained")
    panels = list(drawn.subplots(1, 2, sharex=True))
    for axes, (measure, (title, unit, _)) in zip(panels, FINETUNING.items(), strict=True):
        of_measure = long[long["measure"] == measure]
        for captions in CAPTION_LABELS:
            _mean_and_range(axes, of_measure[of_measure["captions"] == captions], captions)
        axes.set(title=title, xlabel="epoch of fine-tuning", ylabel=unit)
        count_axis(axes)
        axes.margins(y=0.12)
        axes.grid(axis="x", visible=False)
    legend_below(drawn, panels, columns=4)
    return drawn


def _mean_and_range(axes: Axes, line: pd.DataFrame, captions: str) -> None:
    if line.empty:
        return
    runs = line["runs"].max()
    below, above = line["value"] - line["minimum"], line["maximum"] - line["value"]
    # The two kinds of captions stand a little apart, so that no bar hides another.
    aside = {"human": -0.06, "gpt": 0.06}[captions]
    axes.errorbar(
        line["epoch"] + aside,
        line["value"],
        yerr=[below.clip(lower=0), above.clip(lower=0)],
        color=COLOURS[captions],
        marker=SHAPES[captions],
        markersize=4.2,
        elinewidth=1.1,
        capsize=2.6,
        label=f"{CAPTION_LABELS[captions]}, {runs} {'run' if runs == 1 else 'runs'}",
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        history = read_rows([f"{run['folder']}/history.csv" for run in params.runs])
        long = numbers(history, AudioStudy.read(**params.study), scale=params.scale)
        write_figure(figure(long), long, snakemake.output)

"""Figure 2 of the audio study."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from triptych.audio.report.rows import AudioStudy, of_pair
from triptych.report.palette import legend_below, styled
from triptych.report.tables import with_cells

# Okabe and Ito's palette, told apart by every common form of colour vision.
CAPTION_LABELS = {"human": "human captions", "gpt": "new captions"}
CAPTION_COLOURS = {"human": "#d55e00", "gpt": "#0072b2"}
SHAPES = {"human": "o", "gpt": "s"}
FINETUNING = {
    "validation_loss": ("Validation loss", "NT-Xent", 1.0),
    "validation_map_at_10": ("Validation mAP@10", "percent", 100.0),
}
"""Title, unit and factor of each measure."""


def finetuning_long(history: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Figure 2's numbers: mean, least and greatest of the main pair's runs by epoch.

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
def finetuning_figure(long: pd.DataFrame) -> Figure:
    """Figure 2: validation loss and mAP@10 by epoch, mean and range over runs, from
    `finetuning_long`.
    """
    figure = Figure(figsize=(8.6, 3.5), layout="constrained")
    panels = list(figure.subplots(1, 2, sharex=True))
    for axes, (measure, (title, unit, _)) in zip(panels, FINETUNING.items(), strict=True):
        of_measure = long[long["measure"] == measure]
        for captions in CAPTION_LABELS:
            _mean_and_range(axes, of_measure[of_measure["captions"] == captions], captions)
        axes.set(title=title, xlabel="epoch of fine-tuning", ylabel=unit)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.margins(y=0.12)
        axes.grid(axis="x", visible=False)
    legend_below(figure, panels, columns=4)
    return figure


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
        color=CAPTION_COLOURS[captions],
        marker=SHAPES[captions],
        markersize=4.2,
        elinewidth=1.1,
        capsize=2.6,
        label=f"{CAPTION_LABELS[captions]}, {runs} {'run' if runs == 1 else 'runs'}",
    )

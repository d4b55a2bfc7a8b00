"""Figure 2 of the audio study, and every system beside chance."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.audio.report.labels import AUDIO_KIND_COLOURS, CAPTION_COLOURS, CAPTION_LABELS
from triptych.audio.report.rows import AudioStudy
from triptych.report.palette import INK, MUTED, STYLE, legend_below
from triptych.report.tables import with_cells

FINETUNING = {
    "validation_loss": ("Validation loss", "NT-Xent", 1.0),
    "validation_map_at_10": ("Validation mAP@10", "percent", 100.0),
}
SHAPES = {"human": "o", "gpt": "s"}
CHANCE = "chance"
STEPS = [1, 2, 2.5, 5, 10]


PANELS = {
    "single": ("mAP@10, one right clip", "percent"),
    "unseen": ("Unseen combinations", "percent"),
}
"""Title and unit by measure; those that the data allow are drawn."""


def finetuning_long(history: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Figure 2's numbers: mean, least and greatest of the main pair's runs by epoch.

    history: rows of history.csv.
    """
    audio, text = study.main
    ours = history[
        (history["stage"] == "finetuned")
        & (history["corpus"] == study.evaluated)
        & (history["audio_model"] == audio)
        & (history["text_model"] == text)
    ]
    long = ours.melt(["captions", "seed", "epoch"], list(FINETUNING), "measure", "value")
    long["value"] *= long["measure"].map({name: setting[2] for name, setting in FINETUNING.items()})
    groups = long.groupby(["measure", "captions", "epoch"])["value"]
    cells = groups.agg(value="mean", minimum="min", maximum="max", runs="size").reset_index()
    frame = with_cells(cells, unit="", scale=scale)
    frame["unit"] = frame["measure"].map({name: setting[1] for name, setting in FINETUNING.items()})
    return frame


def finetuning_figure(long: pd.DataFrame) -> Figure:
    """Figure 2: validation loss and mAP@10 by epoch, mean and range over runs, from
    `finetuning_long`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.5), layout="constrained")
        panels = list(figure.subplots(1, 2, sharex=True))
        for axes, (measure, (title, unit, _)) in zip(panels, FINETUNING.items(), strict=True):
            of_measure = long[long["measure"] == measure]
            for place, captions in enumerate(CAPTION_LABELS):
                line = of_measure[of_measure["captions"] == captions].sort_values("epoch")
                if len(line):
                    _mean_and_range(axes, line, captions, aside=0.06 * (2 * place - 1))
            axes.set_title(title)
            axes.set_xlabel("epoch of fine-tuning")
            axes.set_ylabel(unit)
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
            axes.margins(y=0.12)
            axes.grid(axis="x", visible=False)
        legend_below(figure, panels, columns=4)
    return figure


def _mean_and_range(axes: Axes, line: pd.DataFrame, captions: str, aside: float) -> None:
    """Epochs of the two kinds of captions stand a little apart, so that no bar hides another."""
    colour = CAPTION_COLOURS[captions]
    epoch = line["epoch"].to_numpy(dtype=float) + aside
    below, above = line["value"] - line["minimum"], line["maximum"] - line["value"]
    runs = int(line["runs"].max())
    axes.errorbar(
        epoch,
        line["value"],
        yerr=[below.clip(lower=0), above.clip(lower=0)],
        color=colour,
        linewidth=1.8,
        marker=SHAPES[captions],
        markersize=4.2,
        elinewidth=1.1,
        capsize=2.6,
        capthick=1.1,
        label=f"{CAPTION_LABELS[captions]}, {runs} {'run' if runs == 1 else 'runs'}",
    )


def beyond_figure(long: pd.DataFrame) -> Figure:
    """Every system with intervals and chance on what the data ask, from `beyond_long`."""
    systems = list(dict.fromkeys(long[long["kind"] != CHANCE]["label"]))
    measures = [name for name in PANELS if (long["measure"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.15 + 0.26 * len(systems)), layout="constrained")
        panels = list(figure.subplots(1, len(measures), sharey=True, squeeze=False)[0])
        for axes, measure in zip(panels, measures, strict=True):
            _panel(axes, long[long["measure"] == measure], systems)
            title, unit = PANELS[measure]
            axes.set_title(title)
            axes.set_xlabel(unit)
        panels[0].set_yticks(range(len(systems)), systems)
        panels[0].set_ylim(len(systems) - 0.4, -0.6)
        panels[0].tick_params(axis="y", labelcolor=INK)
        legend_below(figure, panels, columns=4)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, systems: list[str]) -> None:
    chance, scored = rows[rows["kind"] == CHANCE], rows[rows["kind"] != CHANCE]
    style: dict[str, Any] = {"color": MUTED, "linewidth": 1.1, "linestyle": (0, (1, 1.8))}
    axes.axvline(float(chance["value"].iloc[0]), zorder=1, label=CHANCE, **style)
    for _, row in scored.iterrows():
        y = systems.index(row["label"])
        colour = AUDIO_KIND_COLOURS.get(row["kind"], MUTED)
        axes.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=1.5)
        axes.plot([row["value"]], [y], color=colour, marker="o", markersize=4.6)
    highest = np.nanmax(rows[["value", "high"]].to_numpy(dtype=float))
    axes.set_xlim(0, 1.06 * highest)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", visible=False)

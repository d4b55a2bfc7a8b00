"""Figure 2 of the audio study, and how every pair was trained."""

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.audio.report.rows import AudioStudy, Pair, of_pair
from triptych.report.palette import INK, MUTED, count_axis, legend_below, styled
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
PANELS = {
    "Pretraining: loss": ("pretrained", "validation_loss"),
    "Pretraining: validation mAP@10": ("pretrained", "validation_map_at_10"),
    "Fine-tuning: validation mAP@10": ("finetuned", "validation_map_at_10"),
}
"""Stage and measure of each panel of the trainings."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), "dashdot")


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
        count_axis(axes)
        axes.margins(y=0.12)
        axes.grid(axis="x", visible=False)
    legend_below(figure, panels, columns=4)
    return figure


def trainings_long(history: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
    """Losses and validation mAP@10 of each training by epoch, a row a measure.

    history: rows of history.csv, of which those of the evaluated corpus are kept.
    """
    ours = history[history["corpus"] == study.evaluated]
    measures = {"train_loss": ("", "NT-Xent", 1.0), **FINETUNING}
    keys = ["audio_model", "text_model", "corpus", "stage", "captions", "seed", "epoch"]
    parts = [
        with_cells(
            ours[keys].assign(measure=measure, value=factor * ours[measure]), unit=unit, scale=scale
        )
        for measure, (_, unit, factor) in measures.items()
    ]
    return pd.concat(parts, ignore_index=True)


@styled
def trainings_figure(long: pd.DataFrame, study: AudioStudy) -> Figure:
    """Pretraining and fine-tuning of every pair by epoch, from `trainings_long`: a line a run, the
    main pair's in front. Colours tell text models, dashes audio models."""
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels = list(figure.subplots(1, len(PANELS)))
    texts = dict.fromkeys(text for _, text in study.pairs)
    audios = dict.fromkeys(audio for audio, _ in study.pairs)
    colours, dashes = dict(zip(texts, cycle(COLOURS))), dict(zip(audios, cycle(DASHES)))
    for pair, model in study.pairs.items():
        panels[0].plot([], [], color=colours[pair[1]], label=model.text)
        panels[1].plot([], [], color=MUTED, linestyle=dashes[pair[0]], label=model.audio)
    for axes, (title, (stage, measure)) in zip(panels, PANELS.items(), strict=True):
        of_measure = long[long["measure"] == measure]
        for audio, text in study.pairs:
            for line in _runs(of_measure, (audio, text), stage):
                look = {"color": colours[text], "linestyle": dashes[audio], "linewidth": 1.0}
                axes.plot(line["epoch"], line["value"], **look)
        for line in _runs(of_measure, study.main, stage):
            captions = line["captions"].iloc[0]
            name = CAPTION_LABELS.get(captions, study.pairs[study.main].label)
            look = {"color": INK, "linewidth": 1.3 if captions else 2.0}
            look |= {"marker": SHAPES.get(captions, ""), "markersize": 4.2, "label": name}
            axes.plot(line["epoch"], line["value"], **look)
        axes.set(title=title, xlabel="epoch", ylabel=FINETUNING[measure][1])
        count_axis(axes)
        axes.grid(axis="x", visible=False)
    for line in _runs(long[long["measure"] == "train_loss"], study.main, "pretrained"):
        look = {"color": INK, "linewidth": 0.8, "marker": ".", "label": "its training loss"}
        panels[0].plot(line["epoch"], line["value"], **look)
    legend_below(figure, [panels[0], panels[2], panels[1]], columns=4)
    return figure


def _runs(long: pd.DataFrame, pair: Pair, stage: str) -> list[pd.DataFrame]:
    """Rows of each of a pair's runs of a stage."""
    return [run for _, run in of_pair(long, pair, stage).groupby(["captions", "seed"])]


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

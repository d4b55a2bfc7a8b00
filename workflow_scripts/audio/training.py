"""Beyond the paper: how every pair was trained.

Every pair of models on the corpus that is evaluated, by epoch: loss on the validation split and
validation mAP@10, by which the weights are picked. Colours tell text models, dashes audio models.
Black: the main pair. Each run of fine-tuning is a line; the main pair's have circles with human
captions, squares with captions swapped for new ones, and the other pairs' are with new captions.
Axes do not start at zero.
"""

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure

from triptych.audio.report.rows import (
    CAPTION_LABELS,
    FINETUNING,
    SHAPES,
    AudioStudy,
    Pair,
    of_pair,
    read_rows,
)
from triptych.core.job import job
from triptych.report.palette import INK, MUTED, count_axis, legend_below, styled, write_figure
from triptych.report.tables import with_cells

PANELS = {
    "Pretraining: loss": ("pretrained", "validation_loss"),
    "Pretraining: validation mAP@10": ("pretrained", "validation_map_at_10"),
    "Fine-tuning: validation mAP@10": ("finetuned", "validation_map_at_10"),
}
"""Stage and measure of each panel of the trainings."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), "dashdot")


def numbers(history: pd.DataFrame, study: AudioStudy, *, scale: str) -> pd.DataFrame:
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
def figure(long: pd.DataFrame, study: AudioStudy) -> Figure:
    """Trainings of every pair by epoch: a line a run, the main pair's in front."""
    drawn = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels = list(drawn.subplots(1, len(PANELS)))
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
    legend_below(drawn, [panels[0], panels[2], panels[1]], columns=4)
    return drawn


def _runs(long: pd.DataFrame, pair: Pair, stage: str) -> list[pd.DataFrame]:
    """Rows of each of a pair's runs of a stage."""
    return [run for _, run in of_pair(long, pair, stage).groupby(["captions", "seed"])]


if __name__ == "__main__":
    with job(snakemake):
        study = AudioStudy.read(**snakemake.params.study)
        long = numbers(read_rows(snakemake.input.history), study, scale=snakemake.params.scale)
        write_figure(figure(long, study), long, snakemake.output)

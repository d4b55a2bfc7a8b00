"""Figure 2 of the audio study, and every system beside chance."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.audio.report.labels import AUDIO_KIND_COLOURS, CAPTION_COLOURS, CAPTION_LABELS
from triptych.audio.report.rows import AudioStudy
from triptych.report.palette import GRID, INK, MUTED, STYLE, legend_below
from triptych.report.tables import with_cells

FINETUNING = {
    "validation_loss": ("Validation loss", "NT-Xent", 1.0),
    "validation_map_at_10": ("Validation mAP@10", "percent", 100.0),
}
SHAPES = {"human": "o", "gpt": "s"}
CHANCE = "chance"
STEPS = [1, 2, 2.5, 5, 10]


PANELS = (
    ("mAP@10, one right clip", ("single",), "percent"),
    ("mAP@10 by combination", ("seen", "unseen"), "percent"),
    ("Which of two came first", ("order",), "percent right"),
    ("mAP@10, all right clips", ("multiple_10",), "percent"),
)
"""Title, measures and unit of each panel; the first three that the data ask for are drawn."""


def finetuning_long(
    history: pd.DataFrame, metrics: pd.DataFrame, study: AudioStudy, *, scale: str
) -> pd.DataFrame:
    """Figure 2's numbers: mean, least and greatest of the main pair's runs by epoch.

    history: rows of history.csv of the fine-tuned runs, among others. metrics: rows of
    metrics.csv, for the mAP@10 of chance on the validation split (captions `chance`, no epoch).
    Raises ValueError where the main pair was not fine-tuned.
    """
    audio, text = study.main
    ours = history[
        (history["stage"] == "finetuned")
        & (history["corpus"] == study.evaluated)
        & (history["audio_model"] == audio)
        & (history["text_model"] == text)
    ]
    if ours.empty:
        raise ValueError(f"the main pair {audio}-{text} was not fine-tuned")
    long = ours.melt(["captions", "seed", "epoch"], list(FINETUNING), "measure", "value")
    long["value"] *= long["measure"].map({name: each[2] for name, each in FINETUNING.items()})
    groups = long.groupby(["measure", "captions", "epoch"])["value"]
    cells = groups.agg(value="mean", minimum="min", maximum="max", runs="size").reset_index()
    unaided = metrics[
        (metrics["audio_model"] == CHANCE)
        & (metrics["split"] == "validation")
        & (metrics["metric"] == "map_at_10")
        & (metrics["subset"] == "all")
        & (metrics["relevance"] == "single")
    ]["value"]
    if len(unaided):
        value = 100 * float(unaided.iloc[0])
        row = {"measure": "validation_map_at_10", "captions": CHANCE, "value": value}
        cells = pd.concat([cells, pd.DataFrame([row])], ignore_index=True)
    frame = with_cells(cells, unit="", scale=scale)
    frame["unit"] = frame["measure"].map({name: each[1] for name, each in FINETUNING.items()})
    return frame


def finetuning_figure(long: pd.DataFrame) -> Figure:
    """Figure 2: validation loss and mAP@10 by epoch, human and new captions.

    long: as `finetuning_long` returns it. Line: mean over runs; bars: least to greatest.
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
            # Said and not drawn: an axis down to chance would flatten the lines.
            chance = of_measure.loc[of_measure["captions"] == CHANCE, "value"]
            beside = f" (chance: {chance.iloc[0]:.2g})" if len(chance) else ""
            axes.set_title(title + beside)
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
    axes.fill_between(
        epoch, line["minimum"], line["maximum"], color=colour, alpha=0.12, linewidth=0
    )
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
    """Every system with intervals and chance: mAP@10, seen and unseen combinations, order.

    long: as `beyond_long` returns it. Panels that the data do not ask for are left out.
    """
    systems = list(dict.fromkeys(long[long["kind"] != CHANCE]["label"]))
    kinds = long.drop_duplicates("label").set_index("label")["kind"].map(_family)
    edges = [y - 0.5 for y in range(1, len(systems)) if kinds[systems[y]] != kinds[systems[y - 1]]]
    asked = set(long["measure"])
    panels = [panel for panel in PANELS if asked & set(panel[1])][:3]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 1.15 + 0.26 * len(systems)), layout="constrained")
        # The share of the longest name is not the panels': constrained layout takes it from them.
        axes_list = list(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0])
        for axes, (title, measures, unit) in zip(axes_list, panels, strict=True):
            for edge in edges:
                axes.axhline(edge, color=GRID, linewidth=0.8, zorder=0)
            _panel(axes, long[long["measure"].isin(measures)], systems, measures)
            axes.set_title(title)
            axes.set_xlabel(unit)
        axes_list[0].set_yticks(range(len(systems)), systems)
        axes_list[0].set_ylim(len(systems) - 0.4, -0.6)
        axes_list[0].tick_params(axis="y", labelcolor=INK)
        legend_below(figure, axes_list, columns=4)
    return figure


def _family(kind: str) -> str:
    """What stands together in the figure: ensembles do, and what learned nothing."""
    if kind in ("untrained", "keywords"):
        return "baseline"
    return kind.split("_")[0] if kind.startswith("ensemble") else kind


def _panel(axes: Axes, rows: pd.DataFrame, systems: list[str], measures: Sequence[str]) -> None:
    chance = rows[rows["kind"] == CHANCE]
    # Chance may differ between the parts of a split: each has its own line, equal ones are one.
    for value in sorted({round(float(v), 6) for v in chance["value"]}):
        axes.axvline(
            value, color=MUTED, linewidth=1.1, linestyle=(0, (1, 1.8)), zorder=1, label=CHANCE
        )
    several = len(measures) > 1
    for measure, aside in zip(measures, (-0.17, 0.17) if several else (0.0,), strict=True):
        for _, row in rows[(rows["measure"] == measure) & (rows["kind"] != CHANCE)].iterrows():
            y = systems.index(row["label"]) + aside
            colour = AUDIO_KIND_COLOURS.get(row["kind"], MUTED)
            if pd.notna(row["low"]):
                axes.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=1.5)
            axes.plot(
                [row["value"]],
                [y],
                color=colour,
                marker="o",
                markersize=4.6,
                markerfacecolor="white" if measure == "unseen" else colour,
                markeredgewidth=1.2,
            )
    if several:
        for measure in measures:
            face = "white" if measure == "unseen" else INK
            name = f"combination {'not ' if measure == 'unseen' else ''}in training"
            axes.plot(
                *([], []),
                linestyle="none",
                marker="o",
                markersize=4.6,
                color=INK,
                markerfacecolor=face,
                label=name,
            )
    whole = tuple(measures) == ("order",)
    highest = np.nanmax(rows[["value", "high"]].to_numpy(dtype=float))
    axes.set_xlim(0, 100 if whole else 1.06 * highest)
    axes.xaxis.set_major_locator(MaxNLocator(4 if whole else 5, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", visible=False)

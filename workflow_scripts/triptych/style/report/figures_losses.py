"""Figures of losses and times: 2, 4, 5 and the training of networks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from triptych.report.palette import INK, MUTED, STYLE, legend_below, spoken
from triptych.report.statistics import ratio_interval
from triptych.report.tables import with_cells
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    CONTENT_LOSS_LOOKS,
    OPTIMIZER_LOOKS,
    RATES_LABELS,
    TERM_COLOURS,
)
from triptych.style.report.panels import (
    Files,
    Panel,
    picture_figure,
    read_picture,
    saying_missing,
)
from triptych.style.report.runs import backbone_name

LOSS_LABEL = "loss / first total loss"
BASELINE = "mse"
NO_DIFFERENCE = "no difference"
SMOOTHING = 0.05
"""Share of a training's batches over which the running median of its loss is taken."""


@saying_missing
def backbones_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 2: the total loss by backbone, and what it is made of; logarithmic axes.

    long: as `history_long` returns it, for the experiment `backbones`. files: its pictures.
    """
    lines = long.sort_values("backbone", ascending=False, kind="stable").assign(
        label=long.apply(lambda run: backbone_name(run["architecture"], run["weights"]), axis=1),
        colour=long["backbone"].map(BACKBONE_COLOURS),
    )
    terms = ("total", "style", "content")
    panels = [(f"{term} loss".capitalize(), lines[lines["term"] == term]) for term in terms]
    return _loss_panels(panels)


@saying_missing
def optimizers_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 5: the total loss by optimizer, a panel for the authors' and for tuned rates on each
    backbone. long: as `history_long` returns it, for `optimizers`. files: its pictures."""
    totals = long[long["term"] == "total"]
    totals = totals.assign(
        label=[OPTIMIZER_LOOKS[name].label for name in totals["optimizer"]],
        colour=[OPTIMIZER_LOOKS[name].colour for name in totals["optimizer"]],
    )
    panels = []
    for _, lines in totals.groupby(["architecture", "weights", "rates"], sort=False):
        first = lines.iloc[0]
        name = backbone_name(first["architecture"], first["weights"])
        panels.append((f"{name}, {RATES_LABELS[first['rates']]}", lines))
    return _loss_panels(panels)


def _loss_panels(panels: Sequence[tuple[str, pd.DataFrame]]) -> Figure:
    """Loss curves in panels side by side, with the columns `label` and `colour` for each run."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(1.2 + 3.7 * len(panels), 8.6), 3.4), layout="constrained")
        row = list(figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0])
        for axes, (title, lines) in zip(row, panels, strict=True):
            for _, line in lines.groupby("run", sort=False):
                first = line.iloc[0]
                draw_loss(axes, line, color=first["colour"], label=first["label"])
            axes.set_title(title)
            axes.set_xlabel("evaluations")
        row[0].set_ylabel(LOSS_LABEL)
        legend_below(figure, row, columns=4)
    return figure


def draw_loss(axes: Axes, line: pd.DataFrame, *, color: str, label: str, **how: Any) -> None:
    """One run's loss against evaluations on a logarithmic axis; what is 0 or not finite is left
    out, and a run that ended so has a cross at its last finite loss."""
    finite = line[np.isfinite(line["value"]) & (line["value"] > 0)].sort_values("evaluation")
    axes.plot(finite["evaluation"], finite["value"], color=color, linewidth=1.5, label=label, **how)
    if len(finite) and line["status"].iloc[0] != "finished":
        last, named = finite.iloc[-1], "stopped: diverged or not finite"
        axes.plot(last["evaluation"], last["value"], "x", color=color, markersize=7, label=named)
    logarithmic(axes)
    axes.grid(axis="x", visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def logarithmic(axes: Axes) -> None:
    """A logarithmic axis whose ticks are plain numbers: decades, or 1, 2 and 5 within a few."""
    axes.set_yscale("log")
    low, high = (float(end) for end in axes.dataLim.intervaly)
    few = np.isfinite([low, high]).all() and low > 0 and high < 30 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def loss_times_long(timing: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Seconds of every repeat by content loss, and each loss's paired difference to MSE.

    timing: rows of timing/losses.csv, all losses once in each repeat. `statistic` is `seconds` (a
    row a repeat) or `difference_percent` (a row a loss: the ratio of mean seconds to MSE's less
    one, with its 95% interval over paired repeats, and a verdict).
    """
    wide = timing.pivot_table(index="repeat", columns="content_loss", values="seconds")
    rows = []
    for loss in wide.columns.drop(BASELINE):
        both = wide[[loss, BASELINE]].dropna()
        ratio = ratio_interval(both[loss].to_numpy(), both[BASELINE].to_numpy())
        low, high = 100 * (ratio.low - 1), 100 * (ratio.high - 1)
        rows.append(
            {
                "content_loss": loss,
                "statistic": "difference_percent",
                "repeats": len(both),
                "value": 100 * (ratio.estimate - 1),
                "low": low,
                "high": high,
                "verdict": time_verdict(low, high),
                **timing.iloc[0][["evaluations", "size", "device"]],
            }
        )
    seconds = timing.rename(columns={"seconds": "value"}).assign(statistic="seconds")
    columns = ["statistic", "content_loss", "repeat", "evaluations", "size", "device", "value"]
    parts = ((seconds[columns], "seconds"), (pd.DataFrame(rows), "percent"))
    cells = [with_cells(part, unit=unit, scale=scale) for part, unit in parts]
    return pd.concat(cells, ignore_index=True)


def time_verdict(low: float, high: float) -> str:
    """Verdict on an interval of a difference in time."""
    if np.isnan(low):
        return "one repeat: no verdict"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else NO_DIFFERENCE


def loss_times_figure(times: pd.DataFrame, trends: pd.DataFrame) -> Figure:
    """Figure 4: seconds by content loss (axis from zero), their paired differences with
    intervals, and the loss that each of them reaches.

    times: as `loss_times_long` returns it. trends: `history_long` of the experiment `losses`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.5), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1.15))
        _seconds(left, times[times["statistic"] == "seconds"])
        _differences(middle, times[times["statistic"] == "difference_percent"])
        totals = trends[trends["term"] == "total"]
        for loss in _in_order(totals):
            look = CONTENT_LOSS_LOOKS[loss]
            draw_loss(
                right,
                totals[totals["content_loss"] == loss],
                color=look.colour,
                label=look.label,
                linestyle=look.dash,
            )
        right.set(title="Total loss", xlabel="evaluations", ylabel=LOSS_LABEL)
        right.legend(loc="upper right")
    return figure


def _in_order(frame: pd.DataFrame) -> list[str]:
    """Its content losses in the paper's order."""
    return [name for name in CONTENT_LOSS_LOOKS if (frame["content_loss"] == name).any()]


def _seconds(axes: Axes, repeats: pd.DataFrame) -> None:
    """A bar as high as a loss's mean, which is written at its foot, and a dot for each repeat."""
    losses = _in_order(repeats)
    wide = repeats.pivot_table(index="repeat", columns="content_loss", values="value")[losses]
    # What one round of repeats shares, such as a busy machine, moves its whole line.
    axes.plot(wide.to_numpy().T, color="#c5ccd3", linewidth=0.7)
    for place, loss in enumerate(losses):
        colour, mean = CONTENT_LOSS_LOOKS[loss].colour, wide[loss].mean()
        axes.bar(place, mean, width=0.6, color=colour, alpha=0.28, zorder=1)
        axes.plot([place] * len(wide), wide[loss], "o", markersize=3, color=colour)
        axes.text(place, 0.01 * mean, f"{mean:.3g}", ha="center", va="bottom", fontsize=7.2)
    axes.set_xticks(range(len(losses)), [CONTENT_LOSS_LOOKS[loss].label for loss in losses])
    axes.set_ylim(0, repeats["value"].max() * 1.08)
    axes.grid(axis="x", visible=False)
    evaluations, size = (int(repeats[name].iloc[0]) for name in ("evaluations", "size"))
    axes.set(title="Run time", ylabel=f"seconds for {evaluations} evaluations at {size} px")


def _differences(axes: Axes, paired: pd.DataFrame) -> None:
    """An interval for each loss, in percent of MSE's seconds, under its verdict."""
    losses = _in_order(paired)
    # An interval of noisy times may have no end: it is drawn to the edge.
    magnitudes = paired[["low", "high", "value"]].replace([np.inf, -np.inf], np.nan).abs()
    reach = 1.25 * max(float(np.nanmax(magnitudes.to_numpy(), initial=0.0)), 1.0)
    axes.axvline(0, color=MUTED, linewidth=1)
    for y, loss in enumerate(losses):
        row = paired[paired["content_loss"] == loss].iloc[0]
        colour = CONTENT_LOSS_LOOKS[loss].colour
        ends = np.clip([row["low"], row["high"]], -reach, reach)
        axes.plot(ends, [y, y], color=colour, linewidth=2.2)
        axes.plot([row["value"]], [y], color=colour, marker="o", markersize=5)
        shade = MUTED if row["verdict"] == NO_DIFFERENCE else INK
        axes.text(-0.96 * reach, y - 0.15, row["verdict"], fontsize=7.2, color=shade)
    axes.set(xlim=(-reach, reach), ylim=(len(losses) - 0.5, -0.6))
    axes.set_yticks(range(len(losses)), [CONTENT_LOSS_LOOKS[loss].label for loss in losses])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference in percent, 95% interval")
    axes.set_title(f"Against {CONTENT_LOSS_LOOKS[BASELINE].label}, paired")


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
    figure, (left, right) = picture_figure(rows, tallest=3.4, charts=2)
    training, held_out = long[long["on"] == "training"], long[long["on"] == "held-out"]
    with matplotlib.rc_context(STYLE):
        for _, line in training.groupby(["painting", "term"], sort=False):
            line, term = line.sort_values("batch"), str(line["term"].iloc[0])
            colour = TERM_COLOURS[term]
            median = line["value"].rolling(max(int(SMOOTHING * len(line)), 1), 1).median()
            left.plot(line["batch"], line["value"], color=colour, linewidth=0.5, alpha=0.25)
            named = None if term in left.get_legend_handles_labels()[1] else term
            left.plot(line["batch"], median, color=colour, linewidth=1.6, label=named)
        for painting, line in held_out[held_out["term"] == "total"].groupby("painting", sort=False):
            line = line.sort_values("batch")
            chosen = line[line["chosen"]]
            right.plot(
                line["batch"], line["value"], "o-", markersize=3.5, label=spoken(str(painting))
            )
            right.plot(chosen["batch"], chosen["value"], "o", **RING, label="chosen")
        left.set(title="Training loss", ylabel="weighted loss")
        right.set_title("Held-out loss by checkpoint")
        for axes in (left, right):
            logarithmic(axes)
            axes.set_xlabel("batches")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda batch, _: f"{batch:,.0f}"))
            axes.grid(axis="x", visible=False)
            axes.legend(loc="best", fontsize=7.2, frameon=True, framealpha=0.85, edgecolor="none")
    return figure


RING: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK}

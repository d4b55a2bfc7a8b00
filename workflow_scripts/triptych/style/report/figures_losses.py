"""Figures of losses and times: 2, 4, 5 and the training of networks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from triptych.report.palette import INK, MUTED, count_axis, legend_below, spoken, styled
from triptych.report.statistics import ratio_interval
from triptych.report.tables import with_cells
from triptych.style.report.labels import (
    BACKBONE_COLOURS,
    CONTENT_LOSS_LOOKS,
    OPTIMIZER_LOOKS,
    TERM_COLOURS,
    Look,
)
from triptych.style.report.panels import (
    TEXT_HEIGHT,
    WIDTH,
    Experiment,
    Panel,
    draw_panel,
    read_picture,
    saying_missing,
)
from triptych.style.report.runs import backbone_name, in_order, rates_name

BASELINE = "mse"
BELOW_THE_ENDS = 10.0
"""How far a loss axis goes below the lowest last loss."""
CHART_HEIGHT, TALLEST_SHEET = 2.9, 3.4  # inches
SMOOTHING = 0.05
"""Share of a training's batches over which the running median of its loss is taken."""


@saying_missing
def backbones_figure(shown: Experiment) -> Figure:
    """Figure 2: the total loss by backbone, and what it is made of; logarithmic axes."""
    lines = shown.history.sort_values("backbone", ascending=False, kind="stable")
    return _loss_figure(
        lines.assign(
            panel=panel_of_term(lines),
            label=[backbone_name(run) for run in lines.to_dict("records")],
            colour=lines["backbone"].map(BACKBONE_COLOURS),
        )
    )


@saying_missing
def optimizers_figure(shown: Experiment) -> Figure:
    """Figure 5: the total loss by optimizer, a panel for the authors' and for tuned rates on each
    backbone."""
    totals = shown.history[shown.history["term"] == "total"]
    panels = [rates_name(run) for run in totals.to_dict("records")]
    return _loss_figure(with_looks(totals, "optimizer", OPTIMIZER_LOOKS).assign(panel=panels))


def _loss_figure(lines: pd.DataFrame) -> Figure:
    """Loss curves in panels side by side, as `draw_panels` draws them."""
    count = lines["panel"].nunique()
    figure = Figure(figsize=(max(1.2 + 3.7 * count, 8.6), 3.4), layout="constrained")
    row = list(figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0])
    draw_panels(row, lines)
    # A content loss begins at 0, and its first values would stretch the axis over what follows.
    drawn = lines[np.isfinite(lines["value"]) & (lines["value"] > 0)].sort_values("evaluation")
    ends = drawn.groupby(["panel", "run"])["value"].last()
    row[0].set_ylim(bottom=np.nanmax([row[0].get_ylim()[0], ends.min() / BELOW_THE_ENDS]))
    legend_below(figure, row, columns=4)
    return figure


def with_looks(lines: pd.DataFrame, column: str, looks: Mapping[str, Look]) -> pd.DataFrame:
    """Lines with the label, colour and dash of the methods that a column names."""
    columns = {
        name: [getattr(looks[method], name) for method in lines[column]]
        for name in ("label", "colour", "dash")
    }
    return lines.assign(**columns)


def panel_of_term(lines: pd.DataFrame) -> pd.Series:
    """Titles of panels by the losses' terms: `Style loss`."""
    return lines["term"].str.capitalize() + " loss"


def draw_panels(axes: Sequence[Axes], lines: pd.DataFrame) -> None:
    """Draw losses, rows of `history_long` with `panel` (its title), `label`, `colour` and perhaps
    `dash`: a panel each on these axes, a line for each run."""
    for panel, (title, of_panel) in zip(axes, lines.groupby("panel", sort=False), strict=True):
        for _, line in of_panel.groupby("run", sort=False):
            _draw_loss(panel, line)
        panel.set(title=title, xlabel="evaluations")
    axes[0].set_ylabel("loss / first total loss")


def _draw_loss(axes: Axes, line: pd.DataFrame) -> None:
    """One run's loss against evaluations on a logarithmic axis; what is 0 or not finite is left
    out, and a run that ended so has a cross at its last finite loss."""
    first = line.iloc[0]
    how = {"color": first["colour"], "linestyle": first.get("dash", "solid")}
    finite = line[np.isfinite(line["value"]) & (line["value"] > 0)].sort_values("evaluation")
    axes.plot(finite["evaluation"], finite["value"], linewidth=1.5, label=first["label"], **how)
    if len(finite) and first["status"] != "finished":
        end = finite.tail(1)
        how = {"color": first["colour"], "label": "stopped: diverged or not finite"}
        axes.plot(end["evaluation"], end["value"], "x", markersize=7, **how)
    logarithmic(axes)
    axes.grid(axis="x", visible=False)
    count_axis(axes)


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
    return "faster" if high < 0 else "no difference"


@styled
def loss_times_figure(times: pd.DataFrame, trends: pd.DataFrame) -> Figure:
    """Figure 4: seconds by content loss (axis from zero), their paired differences with
    intervals, and the loss that each of them reaches.

    times: as `loss_times_long` returns it. trends: `history_long` of the experiment `losses`.
    """
    figure = Figure(figsize=(9.0, 3.5), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1.15))
    _seconds(left, times[times["statistic"] == "seconds"])
    _differences(middle, times[times["statistic"] == "difference_percent"])
    totals = in_order(trends[trends["term"] == "total"], "content_loss", CONTENT_LOSS_LOOKS)
    lines = with_looks(totals, "content_loss", CONTENT_LOSS_LOOKS)
    draw_panels([right], lines.assign(panel=panel_of_term(lines)))
    right.legend(loc="upper right")
    return figure


def _seconds(axes: Axes, repeats: pd.DataFrame) -> None:
    """A bar as high as a loss's mean, which is written in it, and a dot for each repeat."""
    wide = repeats.pivot_table(index="repeat", columns="content_loss", values="value")
    looks = {name: look for name, look in CONTENT_LOSS_LOOKS.items() if name in wide}
    colours, means = [look.colour for look in looks.values()], wide[[*looks]].mean()
    # What one round of repeats shares, such as a busy machine, moves its whole line.
    axes.plot(wide[[*looks]].to_numpy().T, color="#c5ccd3", linewidth=0.7)
    bars = axes.bar(range(len(looks)), means, width=0.6, color=colours, alpha=0.28, zorder=1)
    axes.bar_label(bars, fmt="%.3g", label_type="center", fontsize=7.2)
    for place, (loss, look) in enumerate(looks.items()):
        axes.plot([place] * len(wide), wide[loss], "o", markersize=3, color=look.colour)
    axes.set_xticks(range(len(looks)), [look.label for look in looks.values()])
    axes.set_ylim(0, repeats["value"].max() * 1.08)
    axes.grid(axis="x", visible=False)
    evaluations, size = (int(repeats[name].iloc[0]) for name in ("evaluations", "size"))
    axes.set(title="Run time", ylabel=f"seconds for {evaluations} evaluations at {size} px")


def _differences(axes: Axes, paired: pd.DataFrame) -> None:
    """An interval for each loss, in percent of MSE's seconds, beside its verdict."""
    rows = in_order(paired, "content_loss", CONTENT_LOSS_LOOKS)
    # An interval of noisy times may have no end: it is drawn to the edge.
    magnitudes = rows[["low", "high", "value"]].replace([np.inf, -np.inf], np.nan).abs()
    reach = 1.25 * max(float(np.nanmax(magnitudes.to_numpy(), initial=0.0)), 1.0)
    axes.axvline(0, color=MUTED, linewidth=1)
    for y, row in enumerate(rows.to_dict("records")):
        colour = CONTENT_LOSS_LOOKS[row["content_loss"]].colour
        axes.plot(np.clip([row["low"], row["high"]], -reach, reach), [y, y], color=colour, lw=2.2)
        axes.plot(row["value"], y, "o", color=colour, markersize=5)
    named = zip(rows["content_loss"], rows["verdict"], strict=True)
    labels = [f"{CONTENT_LOSS_LOOKS[loss].label}\n{verdict}" for loss, verdict in named]
    axes.set_yticks(range(len(rows)), labels)
    axes.set(xlim=(-reach, reach), ylim=(len(rows) - 0.5, -0.5))
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


@styled
def training_figure(long: pd.DataFrame, samples: Mapping[str, Path]) -> Figure:
    """Losses in training and on held-out images, below pairs of a training image and its stylised
    version. long: as `training_long` returns it. samples: sample sheets by their title."""
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


RING: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK}

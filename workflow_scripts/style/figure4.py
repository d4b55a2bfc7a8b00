"""Figure 4. Run time by content loss.

Left: seconds of Version 1 by content loss, axis from zero; dots are repeats, grey lines join those
of one round. Middle: difference to MSE, paired by round, with its 95% interval; an interval that
holds zero is no difference. Right: the total loss reached. Smooth L1 and Huber are the same
function here.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import MUTED, styled, write_figure
from triptych.report.statistics import ratio_interval
from triptych.report.tables import with_cells
from triptych.style.report.curves import draw_panels, with_looks
from triptych.style.report.labels import CONTENT_LOSS_LOOKS
from triptych.style.report.runs import history_long, in_order

BASELINE = "mse"


def numbers(timing: pd.DataFrame, *, scale: str) -> pd.DataFrame:
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
def figure(times: pd.DataFrame, trends: pd.DataFrame) -> Figure:
    """Seconds by content loss (axis from zero), their paired differences with intervals, and the
    loss that each of them reaches.

    times: as `numbers` returns it. trends: `history_long` of the experiment `losses`.
    """
    figure = Figure(figsize=(9.0, 3.5), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.05, 1, 1.15))
    _seconds(left, times[times["statistic"] == "seconds"])
    _differences(middle, times[times["statistic"] == "difference_percent"])
    totals = in_order(trends[trends["term"] == "total"], "content_loss", CONTENT_LOSS_LOOKS)
    lines = with_looks(totals, "content_loss", CONTENT_LOSS_LOOKS)
    draw_panels([right], lines.assign(panel="Total loss"))
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


if __name__ == "__main__":
    with job(snakemake):
        inputs, scale = snakemake.input, snakemake.params.scale
        times = numbers(read_frames(inputs.timing), scale=scale)
        runs, history = read_frames(inputs.runs), read_frames(inputs.history)
        trends = history_long(history, runs, scale=scale)
        long = pd.concat([times, trends], ignore_index=True)
        write_figure(figure(times, trends), long, snakemake.output)

"""Learning curves: score against updates; they show how far the last scores can be trusted."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.present.tables import with_cells
from triptych.rl.methods import CONTROLS, METHODS
from triptych.rl.report.figures import score_panels
from triptych.rl.report.labels import METHOD_COLOURS, METHOD_LABELS
from triptych.rl.report.scores import in_units
from triptych.rl.tasks import NORMALISED

CURVE = ["task", "algorithm", "method", "sparsity_percent", "update"]


def curves_long(evaluations: pd.DataFrame, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Mean, minimum and maximum over seeds of each evaluation's mean over episodes.

    evaluations: rows of scores.csv. Kept are the dense runs and those of the highest sparsity.
    units: of the tasks whose scores aren't normalised.
    """
    highest = evaluations["sparsity_percent"].max()
    shown = evaluations[evaluations["sparsity_percent"].isin([0, highest])]
    seeds = shown.groupby([*CURVE, "seed"])["score_normalised"].mean().reset_index()
    over_seeds = seeds.groupby(CURVE)["score_normalised"]
    long = over_seeds.agg(value="mean", minimum="min", maximum="max", seeds="count").reset_index()
    return in_units(with_cells(long, unit=NORMALISED, scale=scale), units)


def curves_figure(long: pd.DataFrame) -> Figure:
    """Score against updates: a column a task, a row an algorithm, a line a method.

    long: as `curves_long` returns it. Bands run from the lowest to the highest seed.
    """
    return score_panels(long, _curves_panel, "updates", legend_columns=6)


def _curves_panel(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
    for method in METHOD_LABELS:
        line = cells[cells["method"] == method].sort_values("update")
        if line.empty:
            continue
        sparsity = line["sparsity_percent"].iloc[0]
        name = METHOD_LABELS[method] + (f" {sparsity:g} %" if sparsity else "")
        control = method in CONTROLS
        axes.plot(
            line["update"],
            line["value"],
            color=METHOD_COLOURS[method],
            linewidth=1.1 if control else 1.8,
            linestyle=METHODS[method].dash,
            label=name,
        )
        if not control:
            axes.fill_between(
                line["update"],
                line["minimum"],
                line["maximum"],
                color=METHOD_COLOURS[method],
                alpha=0.13,
                linewidth=0,
            )
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda update, _: f"{update:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]), auto=True)  # panels below share it

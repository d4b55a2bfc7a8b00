"""Learning curves: score against updates; they show how far the last scores can be trusted."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.report.palette import INK
from triptych.report.tables import with_cells
from triptych.rl.methods import CONTROLS, METHODS
from triptych.rl.report.figures import score_panels
from triptych.rl.report.labels import METHOD_COLOURS, METHOD_LABELS
from triptych.rl.report.scores import in_units
from triptych.rl.tasks import NORMALISED

CURVE = ["task", "algorithm", "method", "sparsity_percent", "update"]


def levels_long(
    evaluations: pd.DataFrame, method: str, scale: str, units: Mapping[str, str]
) -> pd.DataFrame:
    """The same for one method at all its sparsities, and for the dense runs.

    Raises ValueError where nothing was pruned by it.
    """
    shown = evaluations[evaluations["method"].isin(["dense", method])]
    if not (shown["method"] == method).any():
        raise ValueError(f"no run was pruned with {method}: {sorted(set(evaluations['method']))}")
    return _over_seeds(shown, scale, units)


def levels_figure(long: pd.DataFrame) -> Figure:
    """Figures 1 and 2 as the paper may have meant them: score against updates, a line a sparsity.

    long: as `levels_long` returns it. Bands run from the lowest to the highest seed, which the
    paper calls its 100% confidence interval.
    """
    levels = sorted(set(long["sparsity_percent"]))
    colours = [INK, *colormaps["viridis_r"](np.linspace(0.2, 1, len(levels) - 1))]
    shades = dict(zip(levels, colours, strict=True))

    def draw(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
        for level in levels:
            line = cells[cells["sparsity_percent"] == level].sort_values("update")
            name = f"{level:g} %" if level else "dense"
            axes.plot(line["update"], line["value"], color=shades[level], linewidth=1.6, label=name)
            axes.fill_between(
                line["update"], line["minimum"], line["maximum"], color=shades[level], alpha=0.12,
                linewidth=0,
            )  # fmt: skip
        _finished(axes)

    return score_panels(long, draw, "updates", legend_columns=8)


def curves_long(evaluations: pd.DataFrame, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Mean, minimum and maximum over seeds of each evaluation's mean over episodes.

    evaluations: rows of scores.csv. Kept are the dense runs and those of the highest sparsity.
    units: of the tasks whose scores aren't normalised.
    """
    highest = evaluations["sparsity_percent"].max()
    shown = evaluations[evaluations["sparsity_percent"].isin([0, highest])]
    return _over_seeds(shown, scale, units)


def _over_seeds(shown: pd.DataFrame, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
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
    _finished(axes)


def _finished(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda update, _: f"{update:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]), auto=True)  # panels below share it

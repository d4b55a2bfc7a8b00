"""Scores as figures: against sparsity (Figures 1 and 2), and as learning curves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.rl.methods import CONTROLS, DENSE
from triptych.rl.report.labels import ALGORITHM_COLOURS, METHOD_LABELS, METHOD_LOOKS, TASK_LABELS
from triptych.rl.report.scores import score_cells
from triptych.rl.tasks.task import NORMALISED


def tasks_in_order(frame: pd.DataFrame) -> list[str]:
    """Names of the tasks: the paper's three in a fixed order, then others by name."""
    present = set(frame["task"])
    return [t for t in TASK_LABELS if t in present] + sorted(present - set(TASK_LABELS))


def task_title(frame: pd.DataFrame, task: str) -> str:
    """Label of a task, with the quality of D4RL's data if it is not the paper's.

    frame: with the column task and optionally data.
    """
    name = label(TASK_LABELS, task)
    data = set(frame.loc[frame["task"] == task, "data"].dropna()) if "data" in frame else set()
    return ", ".join([name, *sorted(source for source in data if source.startswith("d4rl "))])


def task_unit(frame: pd.DataFrame, task: str) -> str:
    """Unit of a task's scores. frame: with the column task and, where units differ, unit."""
    if "unit" not in frame:
        return NORMALISED
    return str(frame.loc[frame["task"] == task, "unit"].iloc[0])


def sparsity_figure(
    summary: pd.DataFrame, behaviour: pd.DataFrame, methods: Sequence[str]
) -> Figure:
    """Score against sparsity by pruning method: a column a task, a row an algorithm.

    summary: as `summarise_scores` returns it, with the unit of each task's scores where they
    differ. Controls among it are thin lines beside those of `methods`.
    behaviour: task, score_normalised_mean of the policy that made the data.
    The band runs from the lowest to the highest seed (the paper's "100% confidence
    interval"), the bars are 95% intervals of the mean; one that leaves the panel has no cap
    there. A single seed has neither. Levels are equally spaced.
    """
    shown = summary[summary["method"].isin([DENSE, *methods, *CONTROLS])]
    levels = sorted({0, *shown["sparsity_percent"]})
    place = {level: float(i) for i, level in enumerate(levels)}

    def draw(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
        colour, expert = ALGORITHM_COLOURS[algorithm], expert_line(axes, behaviour, task)
        for value in cells.loc[cells["method"] == "dense", "value"]:
            look: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (5, 3)), "alpha": 0.65}
            axes.axhline(value, color=colour, label=f"{algorithm} dense", **look)
        controls = [name for name in CONTROLS if (cells["method"] == name).any()]
        for i, control in enumerate(controls):  # shifted, so that lines don't overlap
            line = cells[cells["method"] == control].sort_values("sparsity_percent")
            x, how = line["sparsity_percent"].map(place) + 0.11 * (i + 1), METHOD_LOOKS[control]
            look = {"linewidth": 1.1, "linestyle": how.dash, "marker": how.marker}
            look |= {"markersize": 3.4, "markerfacecolor": "white", "markeredgewidth": 0.9}
            axes.plot(x, line["value"], color=how.colour, label=how.label, **look)
        least = 5.0 if task_unit(shown, task) == NORMALISED else 0.0
        # Two seeds have bars of several panels' height, which would flatten all that they did.
        top = 1.15 * max(cells["maximum"].max(), expert, least)
        bottom = min(0.0, cells["minimum"].min())
        for i, method in enumerate(methods):
            name, line_colour = METHOD_LABELS[method], METHOD_LOOKS[method].colour
            if len(methods) == 1:  # in its algorithm's colour, as in the paper
                name, line_colour = f"{algorithm}, {name}", colour
            aside = 0.07 * (i - (len(methods) - 1) / 2)
            line = cells[cells["method"].isin([method, "dense"])].sort_values("sparsity_percent")
            x, low, high = line["sparsity_percent"].map(place) + aside, line["low"], line["high"]
            axes.fill_between(
                x, line["minimum"], line["maximum"], color=line_colour, alpha=0.16, linewidth=0
            )
            look = {"linewidth": 1.8, "marker": "o", "markersize": 4.2, "zorder": 3}
            axes.plot(x, line["value"], color=line_colour, label=name, **look)
            bars = [[(at, a), (at, b)] for at, a, b in zip(x, low, high, strict=True)]
            axes.add_collection(
                LineCollection(bars, colors=line_colour, linewidths=1.1), autolim=False
            )
            cap: dict[str, Any] = {"markersize": 4.8, "markeredgewidth": 1.1, "linestyle": "none"}
            for ends, inside in ((low, low >= bottom), (high, high <= top)):
                axes.plot(x[inside], ends[inside], "_", color=line_colour, zorder=3, **cap)
        axes.set_xticks(list(place.values()), [f"{level:g}" for level in levels])
        axes.set_xlim(-0.3, len(levels) - 0.4)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.grid(axis="x", visible=False)
        lowest, highest = axes.get_ylim()
        axes.set_ylim(min(0.0, lowest), max(highest, least), auto=True)  # panels below share it

    return score_panels(shown, draw, "weights pruned (%)", legend_columns=5)


def expert_line(axes: Axes, behaviour: pd.DataFrame, task: str) -> float:
    """Draw the score of the policy behind a task's data across a panel; 0 where it has none.

    behaviour: task, score_normalised_mean. Returns the score.
    """
    known = behaviour.loc[behaviour["task"] == task, "score_normalised_mean"].dropna()
    for score in known[:1]:
        look: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 2))}
        axes.axhline(score, color=MUTED, label="policy behind the data", **look)
    return float(known.max()) if len(known) else 0.0


def score_panels(
    frame: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, str, str], None],
    xlabel: str,
    legend_columns: int,
) -> Figure:
    """A grid of panels of scores: a column a task, a row an algorithm, one legend below.

    draw(axes, cells, task, algorithm) fills a panel with the rows of that task and algorithm.
    """
    tasks = tasks_in_order(frame)
    units = [task_unit(frame, task) for task in tasks]
    algorithms = [name for name in ALGORITHM_COLOURS if (frame["algorithm"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(1.0 + 2.75 * len(tasks), 0.75 + 2.15 * len(algorithms)), layout="constrained"
        )
        panels = figure.subplots(
            len(algorithms), len(tasks), sharex=True, sharey="col", squeeze=False
        )
        for row, algorithm in enumerate(algorithms):
            for column, task in enumerate(tasks):
                of_panel = (frame["algorithm"] == algorithm) & (frame["task"] == task)
                draw(panels[row, column], frame[of_panel], task, algorithm)
                if row == 0:
                    panels[row, column].set_title(task_title(frame, task))
                if row == len(algorithms) - 1:
                    panels[row, column].set_xlabel(xlabel)
                if column and units[column] != units[column - 1]:
                    panels[row, column].set_ylabel(units[column], color=INK)
            panels[row, 0].set_ylabel(f"{algorithm}\n{units[0]}", color=INK)
        legend_below(figure, list(panels.flat), columns=legend_columns)
    return figure


CURVE = ["task", "algorithm", "method", "sparsity_percent", "update"]


def curves_long(
    evaluations: pd.DataFrame,
    scale: str,
    units: Mapping[str, str],
    sparsity_percent: float | None = None,
) -> pd.DataFrame:
    """Mean, minimum and maximum over seeds of each evaluation's mean over episodes.

    evaluations: rows of scores.csv; with a sparsity only its runs and dense ones are kept. units:
    of the tasks whose scores aren't normalised.
    """
    shown = evaluations
    if sparsity_percent is not None:
        shown = shown[shown["sparsity_percent"].isin([0, sparsity_percent])]
    seeds = shown.groupby([*CURVE, "seed"])["score_normalised"].mean().reset_index()
    over_seeds = seeds.groupby(CURVE)["score_normalised"]
    long = over_seeds.agg(value="mean", minimum="min", maximum="max", seeds="count").reset_index()
    return score_cells(long, scale=scale, units=units)


def curves_figure(long: pd.DataFrame, by: str = "method") -> Figure:
    """Score against updates: a column a task, a row an algorithm, a line a method or sparsity.

    long: as `curves_long` returns it. by: `method`, or `sparsity_percent` for Figures 1 and 2 as
    the paper may have meant them. Bands run from the lowest to the highest seed.
    """
    levels = sorted(set(long["sparsity_percent"]))
    shades = [INK, *colormaps["viridis_r"](np.linspace(0.2, 1, len(levels) - 1))]

    def draw(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
        for key in METHOD_LABELS if by == "method" else levels:
            line = cells[cells[by] == key].sort_values("update")
            if line.empty:
                continue
            level, control = line["sparsity_percent"].iloc[0], key in CONTROLS
            if by == "method":
                colour, dash = METHOD_LOOKS[key].colour, METHOD_LOOKS[key].dash
                name = METHOD_LABELS[key] + (f" {level:g} %" if level else "")
            else:
                colour, dash = shades[levels.index(key)], "solid"
                name = f"{level:g} %" if level else "dense"
            x, look = line["update"], {"linewidth": 1.1 if control else 1.8, "linestyle": dash}
            axes.plot(x, line["value"], color=colour, label=name, **look)
            if not control:
                ends = line["minimum"], line["maximum"]
                axes.fill_between(x, *ends, color=colour, alpha=0.13, linewidth=0)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda update, _: f"{update:,.0f}"))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.grid(axis="x", visible=False)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]), auto=True)  # panels below share it

    return score_panels(long, draw, "updates", legend_columns=4 if by == "method" else 8)

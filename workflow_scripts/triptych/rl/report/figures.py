"""Scores as figures: against sparsity (Figures 1 and 2) and as learning curves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from triptych.report.palette import INK, MUTED, count_axis, in_lines, legend_below, styled
from triptych.rl.methods import CONTROLS, DENSE
from triptych.rl.report.labels import (
    ALGORITHM_COLOURS,
    ENOUGH_SEEDS,
    METHOD_LABELS,
    METHOD_LOOKS,
    of_methods,
    task_title,
    task_unit,
    tasks_in_order,
)
from triptych.rl.tasks.task import SCALED

LEAST = 5.0
"""Height of a panel of normalised scores, at the least."""
EXTREMES = ("minimum", "maximum")


@styled
def score_panels(
    frame: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, str], None],
    xlabel: str,
    *,
    legend_columns: int,
    behaviour: pd.DataFrame | None = None,
    within: tuple[str, str] = EXTREMES,
) -> Figure:
    """A grid of panels of scores: a column a task, a row an algorithm, one legend below.

    frame: with the columns task, data, unit, algorithm. draw(axes, cells, algorithm) fills a panel
    with the rows of its task and algorithm. behaviour: task, score_normalised_mean of the policy
    that made the data, which is a line. within: columns of the lowest and the highest scores that a
    panel must hold; an interval that goes on is cut, since it would flatten all the rest.
    """
    tasks = tasks_in_order(frame)
    algorithms = [name for name in ALGORITHM_COLOURS if (frame["algorithm"] == name).any()]
    size = (1.0 + 2.75 * len(tasks), 0.75 + 2.15 * len(algorithms))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(algorithms), len(tasks), sharex=True, sharey="col", squeeze=False)
    before = ""
    for of_column, task in zip(panels.T, tasks, strict=True):
        of_task, unit = frame[frame["task"] == task], task_unit(frame, task)
        top = max(of_task[within[1]].max(), LEAST if unit in SCALED else 0.0)
        for axes, algorithm in zip(of_column, algorithms, strict=True):
            if behaviour is not None:
                top = max(top, expert_line(axes, behaviour, task))
            draw(axes, of_task[of_task["algorithm"] == algorithm], algorithm)
            axes.yaxis.set_major_locator(MaxNLocator(5))
            axes.grid(axis="x", visible=False)
            if unit != before:
                axes.set_ylabel(in_lines(unit) if before else f"{algorithm}\n{in_lines(unit)}")
        before = unit
        bottom = min(0.0, of_task[within[0]].min())
        margin = 0.05 * ((top - bottom) or 1.0)  # all scores may be 0
        axes.set_ylim(bottom - margin if bottom else 0.0, top + margin)
        axes.set_xlabel(xlabel)
        of_column[0].set_title(in_lines(task_title(frame, task)))
    legend_below(figure, list(panels.flat), columns=legend_columns)
    return figure


def expert_line(axes: Axes, behaviour: pd.DataFrame, task: str) -> float:
    """Draw the score of the policy behind a task's data across a panel; 0 where it has none.

    behaviour: task, score_normalised_mean. Returns the score.
    """
    known = behaviour.loc[behaviour["task"] == task, "score_normalised_mean"].dropna()
    for score in known[:1]:
        axes.axhline(
            score, color=MUTED, linewidth=0.9, linestyle=":", label="policy behind the data"
        )
    return float(known.max()) if len(known) else 0.0


def draw_line(
    axes: Axes, x: pd.Series, cells: pd.DataFrame, band: tuple[str, str] | None, **look: Any
) -> None:
    """A line through the values of some cells at x, and a band between two of their columns."""
    axes.plot(x, cells["value"], **look)
    if band:
        ends = cells[band[0]], cells[band[1]]
        axes.fill_between(x, *ends, color=look["color"], alpha=0.14, linewidth=0)


def named_look(method: str, sparsity_percent: float = 0) -> dict[str, Any]:
    """Colour, dash and label of a method's line; controls are thin."""
    look, level = METHOD_LOOKS[method], f" {sparsity_percent:g} %" if sparsity_percent else ""
    width = 1.1 if method in CONTROLS else 1.8
    return {
        "color": look.colour,
        "linestyle": look.dash,
        "linewidth": width,
        "label": look.label + level,
    }


def sparsity_figure(
    summary: pd.DataFrame, behaviour: pd.DataFrame, methods: Sequence[str]
) -> Figure:
    """Score against sparsity by pruning method: a column a task, a row an algorithm.

    summary: as `summarise_scores` returns it, with units and data. Controls among it are thin lines
    beside those of `methods`. behaviour: task, score_normalised_mean of the policy that made the
    data.

    The band runs from the lowest to the highest seed (the paper's "100% confidence
    interval"), the bars are 95% intervals of the mean of ENOUGH_SEEDS or more; one that leaves the
    panel has no cap there. A single seed has neither. Levels are equally spaced.
    """
    shown = of_methods(summary, [*methods, *CONTROLS])
    levels = sorted({0, *shown["sparsity_percent"]})
    place = {level: float(i) for i, level in enumerate(levels)}

    def draw(axes: Axes, cells: pd.DataFrame, algorithm: str) -> None:
        colour = ALGORITHM_COLOURS[algorithm]
        for value in cells.loc[cells["method"] == DENSE, "value"]:
            look: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (5, 3)), "alpha": 0.65}
            axes.axhline(value, color=colour, label=f"{algorithm} dense", **look)
        controls = [name for name in CONTROLS if (cells["method"] == name).any()]
        for i, control in enumerate(controls):  # shifted, so that lines don't overlap
            line = cells[cells["method"] == control].sort_values("sparsity_percent")
            x = line["sparsity_percent"].map(place) + 0.11 * (i + 1)
            look = {"marker": METHOD_LOOKS[control].marker, "markersize": 3.4}
            look |= {"markerfacecolor": "white", "markeredgewidth": 0.9}
            draw_line(axes, x, line, None, **named_look(control), **look)
        for i, method in enumerate(methods):
            look = {**named_look(method), "linestyle": "solid"}
            if len(methods) == 1:  # in its algorithm's colour, as in the paper
                look |= {"color": colour, "label": f"{algorithm}, {look['label']}"}
            line = of_methods(cells, [method]).sort_values("sparsity_percent")
            aside = 0.07 * (i - (len(methods) - 1) / 2)
            x, value = line["sparsity_percent"].map(place) + aside, line["value"]
            draw_line(axes, x, line, EXTREMES, marker="o", markersize=4.2, zorder=3, **look)
            enough = line["seeds"] >= ENOUGH_SEEDS
            ends = ((value - line["low"]).where(enough), (line["high"] - value).where(enough))
            bar: dict[str, Any] = {"elinewidth": 1.1, "capsize": 2.4, "fmt": "none"}
            axes.errorbar(x, value, ends, ecolor=look["color"], **bar)
        axes.set_xticks(list(place.values()), [f"{level:g}" for level in levels])
        axes.set_xlim(-0.3, len(levels) - 0.4)

    return score_panels(shown, draw, "weights pruned (%)", behaviour=behaviour, legend_columns=5)


CURVE = ["task", "algorithm", "method", "sparsity_percent", "update"]


def curves_long(evaluations: pd.DataFrame, sparsity_percent: float | None = None) -> pd.DataFrame:
    """Mean, minimum and maximum over seeds of each evaluation's mean over episodes.

    evaluations: rows of scores.csv; with a sparsity only its runs and dense ones are kept.
    """
    shown = evaluations
    if sparsity_percent is not None:
        shown = shown[shown["sparsity_percent"].isin([0, sparsity_percent])]
    seeds = shown.groupby([*CURVE, "seed"])["score_normalised"].mean().reset_index()
    over_seeds = seeds.groupby(CURVE)["score_normalised"]
    return over_seeds.agg(value="mean", minimum="min", maximum="max", seeds="count").reset_index()


def curves_figure(long: pd.DataFrame, by: str = "method") -> Figure:
    """Score against updates: a column a task, a row an algorithm, a line a method or sparsity.

    long: as `curves_long` returns it, with units and data. by: `method`, or `sparsity_percent` for
    Figures 1 and 2 as the paper may have meant them. Bands run from the lowest to the highest seed.
    """
    levels = sorted(set(long["sparsity_percent"]))
    shades = [INK, *colormaps["viridis_r"](np.linspace(0.2, 1, len(levels) - 1))]

    def draw(axes: Axes, cells: pd.DataFrame, algorithm: str) -> None:
        for key in METHOD_LABELS if by == "method" else levels:
            line = cells[cells[by] == key].sort_values("update")
            if line.empty:
                continue
            method, level = line.iloc[0][["method", "sparsity_percent"]]
            look = named_look(method, level)
            if by == "sparsity_percent":
                look |= {"color": shades[levels.index(key)], "linestyle": "solid"}
                look["label"] = f"{level:g} %" if level else "dense"
            band = None if method in CONTROLS else EXTREMES
            draw_line(axes, line["update"], line, band, marker=".", **look)
        count_axis(axes, most=4)

    return score_panels(long, draw, "updates", legend_columns=4 if by == "method" else 8)

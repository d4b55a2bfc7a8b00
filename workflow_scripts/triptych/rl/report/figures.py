"""Scores as figures: against sparsity (Figures 1 and 2), and as learning curves."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.report.tables import with_cells
from triptych.rl.pruning.methods import CONTROLS, METHODS
from triptych.rl.report.labels import ALGORITHM_COLOURS, METHOD_COLOURS, METHOD_LABELS, TASK_LABELS
from triptych.rl.report.scores import in_units
from triptych.rl.tasks.task import NORMALISED


def tasks_in_order(frame: pd.DataFrame) -> list[str]:
    """The frame's tasks: the paper's three in a fixed order, then others by name."""
    present = set(frame["task"])
    return [t for t in TASK_LABELS if t in present] + sorted(present - set(TASK_LABELS))


def task_title(frame: pd.DataFrame, task: str) -> str:
    """A task's name above a panel or column, with the quality of D4RL's data if not the paper's.

    frame: has columns task and, where it is known, data.
    """
    name = label(TASK_LABELS, task)
    data = set(frame.loc[frame["task"] == task, "data"].dropna()) if "data" in frame else set()
    return ", ".join([name, *sorted(each for each in data if each.startswith("d4rl "))])


def task_unit(frame: pd.DataFrame, task: str) -> str:
    """What a task's scores are. frame: has columns task and, where units differ, unit."""
    if "unit" not in frame:
        return NORMALISED
    return str(frame.loc[frame["task"] == task, "unit"].iloc[0])


def sparsity_figure(summary: pd.DataFrame, behaviour: pd.DataFrame, *methods: str) -> Figure:
    """Score against sparsity by pruning method: a column a task, a row an algorithm.

    summary: as `summarise_scores` returns it, for dense, `methods` and any controls, and the unit
    of each task's scores where they differ.
    behaviour: task, score_normalised_mean of the policy that made the data.
    The band runs from the lowest to the highest seed (the paper's "100% confidence
    interval"), the bars are 95% intervals of the mean, cut where they leave the
    panel; a single seed has neither.
    Raises ValueError where the summary has no run of one of `methods`.
    """
    for method in methods:
        if not (summary["method"] == method).any():
            raise ValueError(f"no run was pruned with {method}: {sorted(set(summary['method']))}")
    shown = summary[summary["method"].isin(["dense", *methods, *CONTROLS])]
    levels = sorted({0, *shown["sparsity_percent"]})

    def draw(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
        expert = behaviour.loc[behaviour["task"] == task, "score_normalised_mean"].dropna()
        least = 5.0 if task_unit(shown, task) == NORMALISED else 0.0
        _score_panel(axes, cells, levels, methods, algorithm, expert, least)

    return score_panels(shown, draw, "weights pruned (%)", legend_columns=5)


def score_panels(
    frame: pd.DataFrame,
    draw: Callable[[Axes, pd.DataFrame, str, str], None],
    xlabel: str,
    legend_columns: int,
) -> Figure:
    """A grid of panels of scores: a column a task, a row an algorithm, one legend below.

    frame: has columns task and algorithm. draw(axes, cells, task, algorithm) fills one panel
    with the frame's rows of that task and algorithm.
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


def _score_panel(
    axes: Axes,
    cells: pd.DataFrame,
    levels: list[int],
    methods: Sequence[str],
    algorithm: str,
    expert: pd.Series,
    least: float,
) -> None:
    """One task and algorithm. Levels are equally spaced: 80, 90 and 95 would else collapse.

    least: the panel reaches at least so high.
    """
    place = {level: float(i) for i, level in enumerate(levels)}
    colour = ALGORITHM_COLOURS[algorithm]
    expert_line(axes, expert)
    dense = cells[cells["method"] == "dense"]
    if len(dense):
        axes.axhline(
            dense["value"].iloc[0],
            color=colour,
            linewidth=1,
            linestyle=(0, (5, 3)),
            alpha=0.65,
            label=f"{algorithm} dense",
        )
    drawn = [name for name in CONTROLS if (cells["method"] == name).any()]
    for i, control in enumerate(drawn):
        # A little to the right of each other, so that equal scores do not hide one another.
        aside = 0.11 * (i + 1)
        line = cells[cells["method"] == control].sort_values("sparsity_percent")
        axes.plot(
            line["sparsity_percent"].map(place) + aside,
            line["value"],
            color=CONTROLS[control].colour,
            linewidth=1.1,
            linestyle=CONTROLS[control].dash,
            marker=CONTROLS[control].marker,
            markersize=3.4,
            markerfacecolor="white",
            markeredgewidth=0.9,
            label=CONTROLS[control].label,
        )
    if len(methods) == 1:  # in its algorithm's colour, as in the paper
        name = f"{algorithm}, {METHOD_LABELS[methods[0]]}"
        _score_line(axes, cells, place, methods[0], colour, name, expert, least)
    else:  # each in its own, a little aside, so that intervals don't hide one another
        for i, method in enumerate(methods):
            aside = 0.07 * (i - (len(methods) - 1) / 2)
            places = {level: at + aside for level, at in place.items()}
            name, own = METHOD_LABELS[method], METHOD_COLOURS[method]
            _score_line(axes, cells, places, method, own, name, expert, least)
    axes.set_xticks(list(place.values()), [str(level) for level in levels])
    axes.set_xlim(-0.3, len(levels) - 0.55)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", visible=False)
    low, high = axes.get_ylim()
    axes.set_ylim(min(0.0, low), max(high, least), auto=True)  # panels below share it


def expert_line(axes: Axes, expert: pd.Series) -> None:
    """Across a panel, the score of the policy behind the data, where there is one."""
    if len(expert):
        axes.axhline(
            expert.iloc[0],
            color=MUTED,
            linewidth=0.9,
            linestyle=(0, (1, 2)),
            label="policy behind the data",
        )


def _score_line(
    axes: Axes,
    cells: pd.DataFrame,
    place: dict[int, float],
    method: str,
    colour: str,
    name: str,
    expert: pd.Series,
    least: float,
) -> None:
    """One method's scores from dense on: mean, range of seeds, interval."""
    line = cells[cells["method"].isin([method, "dense"])].sort_values("sparsity_percent")
    x = line["sparsity_percent"].map(place)
    axes.fill_between(x, line["minimum"], line["maximum"], color=colour, alpha=0.16, linewidth=0)
    axes.plot(
        x,
        line["value"],
        color=colour,
        linewidth=1.8,
        marker="o",
        markersize=4.2,
        label=name,
        zorder=3,
    )
    barred = line[line["low"].notna()]
    # Two seeds have bars of several panels' height, which would flatten all that they did.
    top = 1.15 * max(cells["maximum"].max(), expert.max() if len(expert) else least, least)
    bottom = min(0.0, cells["minimum"].min())
    axes.errorbar(
        barred["sparsity_percent"].map(place),
        barred["value"],
        yerr=[
            barred["value"] - barred["low"].clip(lower=bottom),
            barred["high"].clip(upper=top) - barred["value"],
        ],
        fmt="none",
        ecolor=colour,
        elinewidth=1.1,
        capsize=2.4,
        capthick=1.1,
        zorder=3,
    )


CURVE = ["task", "algorithm", "method", "sparsity_percent", "update"]


def levels_long(
    evaluations: pd.DataFrame, method: str, scale: str, units: Mapping[str, str]
) -> pd.DataFrame:
    """Learning curves of one method at all its sparsities, and of the dense runs, over seeds.

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

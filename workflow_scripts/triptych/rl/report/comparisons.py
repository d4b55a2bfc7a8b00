"""Every two methods compared, and performance profiles: whether a criterion beats its controls."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from triptych.core.statistics import LEVEL, Interval, difference_interval
from triptych.report.palette import MUTED, STYLE, label, legend_below
from triptych.report.tables import DASH, Table, with_cells
from triptych.rl.methods import CONTROLS, METHODS
from triptych.rl.report.figures import task_title, tasks_in_order
from triptych.rl.report.labels import ALGORITHM_COLOURS, METHOD_COLOURS, METHOD_LABELS
from triptych.rl.report.scores import in_units, seed_scores
from triptych.rl.report.tables import ALL_TASKS, DIGITS, ENOUGH_SEEDS, interval_text
from triptych.rl.tasks import ACTION_ERROR, NORMALISED

ERRORS = " Of an action error less is better, and it counts so in the last column."
REGISTERED = (
    ("snip", "shuffled"),
    ("snip", "random"),
    ("grasp", "shuffled_grasp"),
    ("grasp", "shuffled"),
    ("grasp", "random"),
)
"""The pairs that were chosen before any was run: a criterion and its controls."""
RESAMPLES = 2000
POINTS = f"points of the {NORMALISED}; all tasks: probability of improvement"


def improvement(first: Sequence[ArrayLike], second: Sequence[ArrayLike]) -> Interval:
    """Probability that a run of the first method scores more than one of the second.

    One array of scores a task each; the mean over tasks of P(X > Y) + P(X = Y) / 2, as rliable has
    it (Agarwal et al. 2021, section 4.2), and the percentile interval of runs drawn again within
    each task.
    """
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(first, second, strict=True)]
    generator = np.random.default_rng(0)
    drawn = [
        (
            x[generator.integers(len(x), size=(RESAMPLES, len(x)))],
            y[generator.integers(len(y), size=(RESAMPLES, len(y)))],
        )
        for x, y in pairs
    ]
    ends = np.quantile(
        np.mean([_more_often(x, y) for x, y in drawn], 0), [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    )
    estimate = np.mean([_more_often(x[None], y[None])[0] for x, y in pairs])
    if min(min(len(x), len(y)) for x, y in pairs) < 2:
        return Interval(float(estimate), float("nan"), float("nan"))
    return Interval(float(estimate), float(ends[0]), float(ends[1]))


def _more_often(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """P(X > Y) + P(X = Y) / 2 of each row's samples."""
    apart = x[:, :, None] - y[:, None, :]
    return np.asarray(((apart > 0) + 0.5 * (apart == 0)).mean((1, 2)))


def comparisons_long(runs: pd.DataFrame, *, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Every two methods at every sparsity: a row a task with the difference of their scores (seeds
    paired) and its interval, and one of ALL_TASKS with the probability of improvement.

    runs: as `run_scores` returns them. units: of the tasks whose scores aren't normalised.
    Returns algorithm, sparsity_percent, first, second, task,
    registered (bool), seeds, value, low, high.
    """
    records = []
    pruned = runs[runs["method"] != "dense"]
    for names, cell in pruned.groupby(["algorithm", "sparsity_percent"], sort=True):
        assert isinstance(names, tuple)
        algorithm, level = str(names[0]), float(str(names[1]))
        present = [name for name in METHODS if (cell["method"] == name).any()]
        for first, second in combinations(present, 2):
            scores = {
                task: tuple(
                    seed_scores(runs, task, method, level, algorithm) for method in (first, second)
                )
                for task in tasks_in_order(cell)
            }
            shared = {task: x.index.intersection(y.index) for task, (x, y) in scores.items()}
            of_both = [task for task in scores if len(shared[task])]
            key = {
                **{"algorithm": algorithm, "sparsity_percent": level},
                **{"first": first, "second": second},
                "registered": (first, second) in REGISTERED,
            }
            for task in of_both:
                x, y = (each[shared[task]].to_numpy() for each in scores[task])
                gap = difference_interval(x, y)
                records.append({**key, "task": task, "seeds": len(x), **vars(gap)})
            if of_both:
                better = [_rising(scores[task], units.get(task)) for task in of_both]
                more = improvement(*zip(*better, strict=True))
                seeds = min(len(shared[task]) for task in of_both)
                records.append({**key, "task": ALL_TASKS, "seeds": seeds, **vars(more)})
    columns = ["algorithm", "sparsity_percent", "first", "second", "registered", "task", "seeds"]
    frame = pd.DataFrame(records, columns=[*columns, "estimate", "low", "high"])
    long = with_cells(frame.rename(columns={"estimate": "value"}), unit=POINTS, scale=scale)
    return in_units(long, units)


def _rising(scores: tuple[pd.Series, ...], unit: str | None) -> tuple[pd.Series, ...]:
    """Methods' scores, turned round where less is better."""
    return tuple(-each for each in scores) if unit == ACTION_ERROR else scores


def comparisons_table(long: pd.DataFrame) -> Table:
    """Lay out the registered pairs at every sparsity, and all others at the highest."""
    highest = long["sparsity_percent"].max()
    long = long[long["registered"] | (long["sparsity_percent"] == highest)]
    long = long[long["seeds"] >= ENOUGH_SEEDS]
    tasks = tasks_in_order(long[long["task"] != ALL_TASKS])
    units = dict(zip(long["task"], long["unit"], strict=True))
    own = {task: f" ({unit})" for task, unit in units.items() if unit != POINTS}
    headers = [task_title(long, task) + own.get(task, "") for task in tasks]
    rows = []
    key = ["registered", "algorithm", "sparsity_percent", "first", "second"]
    for names, cells in long.groupby(key, sort=False):
        assert isinstance(names, tuple)
        registered, algorithm, level, first, second = names
        line = [
            f"{algorithm}, {level:g} %",
            f"{label(METHOD_LABELS, str(first))} - {label(METHOD_LABELS, str(second))}"
            + ("" if registered else " *"),
        ]
        for task in tasks:
            cell, digits = cells[cells["task"] == task], DIGITS.get(units[task], 1)
            line.append(interval_text(cell, ("value", "low", "high"), digits))
        line.append(interval_text(cells[cells["task"] == ALL_TASKS], ("value", "low", "high"), 2))
        rows.append((not registered, tuple(line)))
    columns = ("", "Pair", *headers, "First scores more")
    return Table(
        name="rl_comparisons",
        title="Methods compared two by two.",
        caption=(
            "Difference of the mean scores in points, seeds paired, with its 95% interval "
            "(Student's t); last, the probability over all tasks that a run of the first method "
            "scores more than one of the second, with a bootstrap interval that is too narrow for "
            "few seeds (docs/intervals.md). A star: a pair that was not chosen beforehand. Pairs "
            f"of fewer than {ENOUGH_SEEDS} seeds are in the CSV alone."
            + (ERRORS if ACTION_ERROR in units.values() else "")
        ),
        columns=tuple(("", name) for name in columns),
        rows=tuple(line for _, line in sorted(rows, key=lambda row: row[0])) or ((DASH,) * 3,),
        keys=2,
    )


def profiles_long(runs: pd.DataFrame, behaviour: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Performance profiles (Agarwal et al. 2021, section 4.3) at the highest sparsity, and dense.

    The share of all tasks' runs that score more than a part of what the policy behind the data
    does, by algorithm, method and that part (from 0 to 1.2).
    """
    expert = behaviour.set_index("task")["score_normalised_mean"]
    highest = runs["sparsity_percent"].max()
    shown = runs[runs["sparsity_percent"].isin([0, highest])]
    parts = np.linspace(0, 1.2, 121)
    records = []
    for algorithm, method in product(ALGORITHM_COLOURS, METHOD_LABELS):
        cell = shown[(shown["algorithm"] == algorithm) & (shown["method"] == method)]
        if len(cell):
            reached = (cell["score"] / cell["task"].map(expert)).to_numpy()
            records += [
                {
                    **{"algorithm": algorithm, "method": method},
                    **{"sparsity_percent": cell["sparsity_percent"].iloc[0], "part": part},
                    **{"runs": len(cell), "value": (reached > part).mean()},
                }
                for part in parts
            ]
    return with_cells(pd.DataFrame(records), unit="share of runs", scale=scale)


def profiles_figure(long: pd.DataFrame) -> Figure:
    """Performance profiles: a panel an algorithm, a line a method, controls as equals.

    long: as `profiles_long` returns it.
    """
    algorithms = [name for name in ALGORITHM_COLOURS if (long["algorithm"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.2 + 3.6 * len(algorithms), 3.6), layout="constrained")
        panels = figure.subplots(1, len(algorithms), sharey=True, squeeze=False)[0]
        for axes, algorithm in zip(panels, algorithms, strict=True):
            _profiles_panel(axes, long[long["algorithm"] == algorithm])
            axes.set_title(algorithm)
        panels[0].set_ylabel("share of runs above that")
        legend_below(figure, list(panels), columns=4)
    return figure


def _profiles_panel(axes: Axes, cells: pd.DataFrame) -> None:
    for method in METHOD_LABELS:
        line = cells[cells["method"] == method]
        if len(line):
            axes.plot(
                line["part"],
                line["value"],
                color=METHOD_COLOURS[method],
                linestyle=METHODS[method].dash,
                linewidth=1.4 if method in CONTROLS else 2.0,
                label=METHOD_LABELS[method],
            )
    axes.axvline(1, color=MUTED, linewidth=0.9, linestyle=(0, (1, 2)))
    axes.set_xlabel("score, part of the data's policy")
    axes.set_ylim(-0.02, 1.04)

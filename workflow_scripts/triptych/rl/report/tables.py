"""Tables of scores: each method, methods two by two, variants of the pruning.

`x_long` computes a long frame, `x_table` lays it out: the page lays out what it reads back from the
long CSV, so that both show the same cells.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from triptych.report.palette import label
from triptych.report.statistics import LEVEL, Interval, difference_interval
from triptych.report.tables import DASH, Table, number
from triptych.rl.methods import CRITERIA, DENSE, METHODS
from triptych.rl.report.figures import task_title, task_unit, tasks_in_order
from triptych.rl.report.labels import ALGORITHM_COLOURS, METHOD_LABELS
from triptych.rl.report.scores import (
    aggregate_over_tasks,
    default_pruning,
    score_cells,
    seed_scores,
    summarise_scores,
)
from triptych.rl.tasks.task import NORMALISED

ALL_TASKS = "all tasks"
ENOUGH_SEEDS = 3
"""Two bound nothing: intervals of hundreds of points, which tables leave to the CSV."""


def scores_long(
    runs: pd.DataFrame, *, sparsity_percent: int, scale: str, units: Mapping[str, str]
) -> pd.DataFrame:
    """Scores of the dense and of the pruned runs at one sparsity, each task and all tasks.

    units: those of the tasks whose scores aren't normalised, which are not among all tasks. Rows of
    ALL_TASKS hold the interquartile mean, its interval over seeds drawn within tasks, and no ratio.
    """
    chosen = runs[(runs["sparsity_percent"] == sparsity_percent) | (runs["method"] == DENSE)]
    parts = [summarise_scores(chosen)]
    alike = chosen[~chosen["task"].isin(units)]
    if alike["task"].nunique() > 1:
        together = aggregate_over_tasks(alike)
        together.insert(0, "task", ALL_TASKS)
        parts.append(together[together["seeds"] > 0])
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    return score_cells(frame, scale=scale, units=units)


def scores_table(long: pd.DataFrame) -> Table:
    """Lay out the scores: a row an algorithm and method, columns the tasks."""
    together = (long["task"] == ALL_TASKS).any()
    of_tasks = long[long["task"] != ALL_TASKS]
    tasks, units = tasks_in_order(of_tasks), dict(zip(long["task"], long["unit"], strict=True))
    columns = [("", "Algorithm, method")]
    for task in tasks:
        name, unit = task_title(of_tasks, task), units[task]
        columns += [(name, "score" if unit == NORMALISED else unit), (name, "ratio to dense")]
    digits = _decimals_by_task(of_tasks)
    seeds_of = of_tasks.groupby("algorithm")["seeds"].max().astype(int)
    fewer = (of_tasks["seeds"] < of_tasks["algorithm"].map(seeds_of)).any()
    if together:
        columns.append(("All tasks", "interquartile mean"))
    rows = []
    for algorithm, method in product(ALGORITHM_COLOURS, METHOD_LABELS):
        cells = long[(long["algorithm"] == algorithm) & (long["method"] == method)]
        if cells.empty:
            continue
        line, most = [f"{algorithm}, {METHOD_LABELS[method]}"], seeds_of[algorithm]
        for task in tasks:
            cell = cells[cells["task"] == task]
            text = interval_text(cell, ("value", "low", "high"), digits[task])
            seeds = most if cell.empty else int(cell["seeds"].iloc[0])
            line.append(text if seeds == most else f"{text} ({seeds} of {most} seeds)")
            ratio = ("ratio_to_dense", "ratio_low", "ratio_high")
            line.append(DASH if method == DENSE else interval_text(cell, ratio, 2))
        if together:
            cell = cells[cells["task"] == ALL_TASKS].assign(seeds=most)
            line.append(interval_text(cell, ("value", "low", "high"), 1))
        rows.append(tuple(line))
    sparsity = f"{long['sparsity_percent'].max():g}"
    return Table(
        name="rl_scores",
        title=f"Scores at {sparsity}% sparsity.",
        caption=(
            "Score (D4RL-normalised where its column names no other unit), mean over seeds with "
            "its 95% interval ("
            + ", ".join(f"{algorithm}: {seeds} seeds" for algorithm, seeds in seeds_of.items())
            + f"; none is shown for fewer than {ENOUGH_SEEDS}); ratio to "
            "the dense runs, seeds paired. All tasks: interquartile mean over tasks and seeds, "
            "seeds drawn within tasks. The paper prints no scores."
            + (" Runs that diverged have no score and are left out." if fewer else "")
        ),
        columns=tuple(columns),
        rows=tuple(rows),
    )


def decimals(values: ArrayLike) -> int:
    """Decimals of returns of this size: 1 from 10 up, 2 from 1, 3 below, such as success rates."""
    largest = np.nanmax(np.abs(np.asarray(values, float)), initial=0)
    return 1 if largest >= 10 else 2 if largest >= 1 else 3


def _decimals_by_task(long: pd.DataFrame) -> dict[str, int]:
    """Decimals of each task's scores; those normalised have 1, whatever their size."""
    unit = dict(zip(long["task"], long["unit"], strict=True))
    return {
        str(task): 1 if unit[task] in (NORMALISED, POINTS) else decimals(cells["value"])
        for task, cells in long.groupby("task")
    }


def interval_text(cell: pd.DataFrame, columns: tuple[str, str, str], digits: int) -> str:
    """Estimate and interval of a cell; the estimate alone where one seed gives no interval."""
    if cell.empty:
        return DASH
    estimate, low, high = (float(cell[column].iloc[0]) for column in columns)
    if pd.isna(estimate) or pd.isna(low) or cell["seeds"].iloc[0] < ENOUGH_SEEDS:
        return number(estimate, digits)
    return Interval(estimate, low, high).text(digits)


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

    One array of scores a task each. The mean over tasks of P(X > Y) + P(X = Y) / 2 (Agarwal et al.
    2021, section 4.2), and the percentile interval of runs drawn again within each task.
    """
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(first, second, strict=True)]
    generator = np.random.default_rng(0)

    def drawn(scores: np.ndarray) -> np.ndarray:
        return scores[generator.integers(len(scores), size=(RESAMPLES, len(scores)))]

    resampled = np.mean([_more_often(drawn(x), drawn(y)) for x, y in pairs], 0)
    ends = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
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

    units: of the tasks whose scores aren't normalised. Returns algorithm, sparsity_percent, first,
    second, task, registered (bool), seeds, value, low, high.
    """
    records: list[tuple[Any, ...]] = []
    pruned = runs[runs["method"] != DENSE]
    names: Any
    for names, cell in pruned.groupby(["algorithm", "sparsity_percent"], sort=True):
        algorithm, level = names
        present = [name for name in METHODS if (cell["method"] == name).any()]
        for pair in combinations(present, 2):
            key = (algorithm, float(level), *pair, pair in REGISTERED)
            samples = []
            for task in tasks_in_order(cell):
                scores = [seed_scores(runs, task, name, level, algorithm) for name in pair]
                x, y = scores[0].align(scores[1], join="inner")
                if len(x):
                    samples.append((len(x), *scores))
                    gap = difference_interval(x.to_numpy(), y.to_numpy())
                    records.append((*key, task, len(x), gap.estimate, gap.low, gap.high))
            if samples:
                seeds, firsts, seconds = zip(*samples, strict=True)
                more = improvement(firsts, seconds)
                records.append((*key, ALL_TASKS, min(seeds), more.estimate, more.low, more.high))
    columns = ["algorithm", "sparsity_percent", "first", "second", "registered", "task", "seeds"]
    long = pd.DataFrame(records, columns=[*columns, "value", "low", "high"])
    return score_cells(long, scale=scale, units=units, unit=POINTS)


def comparisons_table(long: pd.DataFrame) -> Table:
    """Lay out the registered pairs at every sparsity, and all others at the highest."""
    highest = long["sparsity_percent"].max()
    long = long[long["registered"] | (long["sparsity_percent"] == highest)]
    long = long[long["seeds"] >= ENOUGH_SEEDS]
    tasks = tasks_in_order(long[long["task"] != ALL_TASKS])
    units = dict(zip(long["task"], long["unit"], strict=True))
    unit_of = {task: f" ({unit})" for task, unit in units.items() if unit != POINTS}
    headers = [task_title(long, task) + unit_of.get(task, "") for task in tasks]
    digits = _decimals_by_task(long)
    rows = []
    key = ["registered", "algorithm", "sparsity_percent", "first", "second"]
    names: Any
    for names, cells in long.groupby(key, sort=False):
        registered, algorithm, level, first, second = names
        pair = f"{label(METHOD_LABELS, first)} - {label(METHOD_LABELS, second)}"
        line = [f"{algorithm}, {level:g} %", pair if registered else f"{pair} *"]
        for task in tasks:
            cell = cells[cells["task"] == task]
            line.append(interval_text(cell, ("value", "low", "high"), digits[task]))
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
            "few seeds (docs/results.md). A star: a pair that was not chosen beforehand. Pairs "
            f"of fewer than {ENOUGH_SEEDS} seeds are in the CSV alone."
        ),
        columns=tuple(("", name) for name in columns),
        rows=tuple(line for _, line in sorted(rows, key=lambda row: row[0])) or ((DASH,) * 3,),
        keys=2,
    )


def variants_long(runs: pd.DataFrame, *, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Each variant's scores beside those of the default pruning, seeds paired.

    runs: of one way to see observations. units: of the tasks whose scores aren't normalised.
    Returns algorithm, sparsity_percent, method, pruning, task, seeds (shared), value (mean score),
    default (that of the default pruning), gap (their difference), low, high (its 95% interval).
    """
    usual, records = default_pruning(runs), []
    key = ["algorithm", "sparsity_percent", "method", "pruning"]
    names: Any
    for names, cell in runs.drop(usual.index).groupby(key, sort=False):
        algorithm, level, method, _ = names
        for task in tasks_in_order(cell):
            own, other = (
                seed_scores(source, task, method, level, algorithm) for source in (cell, usual)
            )
            own, other = own.align(other, join="inner")
            if len(own):
                gap = difference_interval(own, other)
                ends = (gap.estimate, gap.low, gap.high)
                records.append((*names, task, len(own), own.mean(), other.mean(), *ends))
    columns = [*key, "task", "seeds", "value", "default", "gap", "low", "high"]
    frame = pd.DataFrame(records, columns=columns)
    return score_cells(frame, scale=scale, units=units)


def variants_table(long: pd.DataFrame, variants: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each criterion and variant: its score on each task, and by how much it is more.

    long: as `variants_long` returns it. variants: what config says of each.
    """
    tasks, digits, rows = tasks_in_order(long), _decimals_by_task(long), []
    runs: Any
    for (runs, of_runs), method, pruning in product(
        long.groupby(["algorithm", "sparsity_percent"]), CRITERIA, variants
    ):
        cells = of_runs[(of_runs["method"] == method) & (of_runs["pruning"] == pruning)]
        if cells.empty:
            continue
        line = [f"{runs[0]}, {runs[1]:g} %", label(METHOD_LABELS, method)]
        line.append(described(method, variants[pruning]))
        for task in tasks:
            cell = cells[cells["task"] == task]
            line.append(number(cell["value"].iloc[0], digits[task]) if len(cell) else DASH)
            line.append(interval_text(cell, ("gap", "low", "high"), digits[task]))
        rows.append(tuple(line))
    columns = [("", "Runs"), ("", "Method"), ("", "Pruned with")]
    for task in tasks:
        name, unit = task_title(long, task), task_unit(long, task)
        score = "score" if unit == NORMALISED else unit
        columns += [(name, score), (name, "more than by default")]
    return Table(
        name="rl_variants",
        title="Other ways to prune.",
        caption=(
            "The paper says that other batches and more pruning iterations than one gave no "
            "improvement (section 4). Mean score over seeds, and the difference to that of the "
            "default pruning, seeds paired, with its 95% interval (Student's t)."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=3,
    )


def described(method: str, variant: Mapping[str, Any]) -> str:
    """Settings of a variant that matter to a method, in words."""
    words = {CRITERIA[method].batch: "{} transitions", "iterations": "{} iterations"}
    return ", ".join(text.format(variant[key]) for key, text in words.items() if key in variant)

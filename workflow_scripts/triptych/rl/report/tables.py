"""What tables of scores share: texts of their cells, comparisons of methods and of prunings."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from triptych.report.statistics import LEVEL, Interval
from triptych.report.tables import number
from triptych.rl.methods import CRITERIA, DENSE, METHODS
from triptych.rl.report.labels import ALL_TASKS, ENOUGH_SEEDS, task_unit, tasks_in_order
from triptych.rl.report.scores import INTERVAL, default_pruning, gap, paired
from triptych.rl.tasks.task import NORMALISED, RETURN

POINTS = "points of the {}; all tasks: probability of improvement"
"""Unit of differences of scores, which are in one."""
CELL_TEXT = ("group", "header", "cell")
"""Columns of the cells that `Table.spread` lays out."""


def score_header(unit: str) -> str:
    return "score" if unit == NORMALISED else unit


def decimals(values: ArrayLike) -> int:
    """Decimals of returns of this size: 1 from 10 up, 2 from 1, 3 below, such as success rates."""
    largest = np.nanmax(np.abs(np.asarray(values, float)), initial=0)
    return 1 if largest >= 10 else 2 if largest >= 1 else 3


def decimals_by_task(long: pd.DataFrame) -> dict[str, int]:
    """Decimals of each task's scores; those normalised have 1, whatever their size."""
    return {
        task: 1
        if task_unit(long, task) != RETURN
        else decimals(long.loc[long["task"] == task, "value"])
        for task in tasks_in_order(long)
    }


def interval_text(
    cell: Mapping[Any, Any], digits: int, columns: tuple[str, str, str] = INTERVAL
) -> str:
    """Estimate and interval of a row; the estimate alone where too few seeds give an interval."""
    interval = Interval(*(float(cell[column]) for column in columns))
    if pd.isna(interval.low) or cell["seeds"] < ENOUGH_SEEDS:
        return number(interval.estimate, digits)
    return interval.text(digits)


REGISTERED = (
    ("snip", "shuffled"),
    ("snip", "random"),
    ("grasp", "shuffled_grasp"),
    ("grasp", "shuffled"),
    ("grasp", "random"),
)
"""The pairs that were chosen before any was run: a criterion and its controls."""
RESAMPLES = 2000


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
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    estimate = np.mean([_more_often(x[None], y[None])[0] for x, y in pairs])
    if min(min(len(x), len(y)) for x, y in pairs) < 2:
        low = high = np.nan
    return Interval(float(estimate), float(low), float(high))


def _more_often(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """P(X > Y) + P(X = Y) / 2 of each row's samples."""
    apart = x[:, :, None] - y[:, None, :]
    return np.asarray(((apart > 0) + 0.5 * (apart == 0)).mean((1, 2)))


def comparisons_long(runs: pd.DataFrame) -> pd.DataFrame:
    """Every two methods at every sparsity: a row a task with the difference of their scores (seeds
    paired) and its interval, and one of ALL_TASKS with the probability of improvement.

    Returns algorithm, sparsity_percent, first, second, registered (bool), task, seeds, INTERVAL.
    """
    rows, pruned = [], runs[runs["method"] != DENSE]
    names: Any
    for names, cell in pruned.groupby(["algorithm", "sparsity_percent"]):
        scores = cell.pivot(index=["task", "seed"], columns="method", values="score")
        for pair in combinations([name for name in METHODS if name in scores], 2):
            about = (names[0], float(names[1]), *pair, pair in REGISTERED)
            samples, seeds = [], []
            pairs = scores[[*pair]].set_axis(["score", "other"], axis=1).reset_index("task")
            for task in tasks_in_order(cell):
                of_task = pairs[pairs["task"] == task]
                both = of_task.dropna()
                if len(both):
                    rows.append((*about, task, len(both), *astuple(gap(both))))
                    seeds.append(len(both))
                    samples.append([of_task[name].dropna() for name in ("score", "other")])
            if seeds:
                more = improvement(*zip(*samples, strict=True))
                rows.append((*about, ALL_TASKS, min(seeds), *astuple(more)))
    columns = ["algorithm", "sparsity_percent", "first", "second", "registered", "task", "seeds"]
    return pd.DataFrame(rows, columns=[*columns, *INTERVAL])


def beside_default(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of variants of the pruning, `paired` by seed with those of the default pruning."""
    usual = default_pruning(runs)
    same = ["algorithm", "sparsity_percent", "method", "task", "seed"]
    return paired(runs.drop(usual.index), usual, same, how="inner")


def described(method: str, variant: Mapping[str, Any]) -> str:
    """Settings of a variant that matter to a method, in words."""
    words = {CRITERIA[method].batch: "{} transitions", "iterations": "{} iterations"}
    return ", ".join(text.format(variant[key]) for key, text in words.items() if key in variant)

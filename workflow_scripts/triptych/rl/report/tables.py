"""Tables of scores: each method, methods two by two, variants of the pruning.

`x_long` computes a long frame, `x_table` lays it out: the page lays out what it reads back from the
long CSV, so that both show the same cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from triptych.report.palette import label
from triptych.report.statistics import LEVEL, Interval
from triptych.report.tables import DASH, Table, number, plain
from triptych.rl.methods import CRITERIA, DENSE, METHODS
from triptych.rl.report.labels import (
    ALL_TASKS,
    ENOUGH_SEEDS,
    METHOD_LABELS,
    in_order,
    task_title,
    task_unit,
    tasks_in_order,
)
from triptych.rl.report.scores import (
    INTERVAL,
    RATIO,
    aggregate_over_tasks,
    default_pruning,
    gap,
    paired,
    summarise_scores,
)
from triptych.rl.tasks.task import NORMALISED

POINTS = f"points of the {NORMALISED}; all tasks: probability of improvement"
GAP = ("gap", "low", "high")
CELL_TEXT = ("group", "header", "cell")
"""Columns of the cells that `Table.spread` lays out."""


def scores_long(runs: pd.DataFrame, sparsity_percent: float) -> pd.DataFrame:
    """Scores of the dense and of the pruned runs at one sparsity, each task and all tasks.

    Rows of ALL_TASKS hold the interquartile mean over the tasks whose scores are normalised, its
    interval over seeds drawn within tasks, and no ratio.
    """
    chosen = runs[runs["sparsity_percent"].isin([0, sparsity_percent])]
    parts = [summarise_scores(chosen)]
    alike = chosen[chosen["unit"] == NORMALISED]
    if alike["task"].nunique() > 1:
        parts.append(aggregate_over_tasks(alike).assign(task=ALL_TASKS))
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def scores_table(long: pd.DataFrame) -> Table:
    """Lay out the scores: a row an algorithm and method, columns the tasks."""
    of_tasks, digits, cells = long[long["task"] != ALL_TASKS], decimals_by_task(long), []
    seeds_of = of_tasks.groupby("algorithm")["seeds"].max().astype(int)
    for cell in in_order(long, "algorithm", "method", "task").to_dict("records"):
        name = f"{cell['algorithm']}, {METHOD_LABELS[cell['method']]}"
        seeds, most = cell["seeds"], seeds_of[cell["algorithm"]]
        if cell["task"] == ALL_TASKS:
            text = interval_text({**cell, "seeds": most}, 1)
            cells.append((name, "All tasks", "interquartile mean", text))
            continue
        title, text = task_title(long, cell["task"]), interval_text(cell, digits[cell["task"]])
        left = "" if seeds == most else f" ({seeds} of {most} seeds)"
        ratio = DASH if cell["method"] == DENSE else interval_text(cell, 2, RATIO)
        cells.append((name, title, score_header(cell["unit"]), text + left))
        cells.append((name, title, "ratio to dense", ratio))
    fewer = (of_tasks["seeds"] < of_tasks["algorithm"].map(seeds_of)).any()
    return Table.spread(
        pd.DataFrame(cells, columns=["name", *CELL_TEXT]),
        {"name": "Algorithm, method"},
        name="rl_scores",
        title=f"Scores at {long['sparsity_percent'].max():g}% sparsity.",
        caption=(
            "Score (D4RL-normalised where its column names no other unit), mean over seeds with "
            "its 95% interval ("
            + ", ".join(f"{algorithm}: {seeds} seeds" for algorithm, seeds in seeds_of.items())
            + f"; none is shown for fewer than {ENOUGH_SEEDS}); ratio to "
            "the dense runs, seeds paired. All tasks: interquartile mean over tasks and seeds, "
            "seeds drawn within tasks. The paper prints no scores."
            + (" Runs that diverged have no score and are left out." if fewer else "")
        ),
    )


def score_header(unit: str) -> str:
    """Header of a task's scores."""
    return "score" if unit == NORMALISED else unit


def decimals(values: ArrayLike) -> int:
    """Decimals of returns of this size: 1 from 10 up, 2 from 1, 3 below, such as success rates."""
    largest = np.nanmax(np.abs(np.asarray(values, float)), initial=0)
    return 1 if largest >= 10 else 2 if largest >= 1 else 3


def decimals_by_task(long: pd.DataFrame) -> dict[str, int]:
    """Decimals of each task's scores; those normalised have 1, whatever their size."""
    return {
        task: 1
        if task_unit(long, task) in (NORMALISED, POINTS)
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


def comparisons_table(long: pd.DataFrame) -> Table:
    """Lay out the registered pairs at every sparsity, and all others at the highest."""
    highest = long["sparsity_percent"].max()
    shown = long[long["registered"] | (long["sparsity_percent"] == highest)]
    shown = shown[shown["seeds"] >= ENOUGH_SEEDS].sort_values(
        "registered", ascending=False, kind="stable"
    )
    digits, headers = decimals_by_task(shown), {}
    for task in tasks_in_order(shown):
        unit = task_unit(shown, task)
        headers[task] = task_title(shown, task) + ("" if unit == POINTS else f" ({unit})")
    headers[ALL_TASKS], digits[ALL_TASKS] = "First scores more", 2
    cells = []
    for cell in shown.to_dict("records"):
        pair = " - ".join(label(METHOD_LABELS, cell[name]) for name in ("first", "second"))
        of_runs = f"{cell['algorithm']}, {cell['sparsity_percent']:g} %"
        pair = pair if cell["registered"] else f"{pair} *"
        text = interval_text(cell, digits[cell["task"]])
        cells.append((of_runs, pair, "", headers[cell["task"]], text))
    return Table.spread(
        pd.DataFrame(cells, columns=["runs", "pair", *CELL_TEXT]),
        {"runs": "", "pair": "Pair"},
        plain(*headers.values()),
        name="rl_comparisons",
        title="Methods compared two by two.",
        caption=(
            "Difference of the mean scores in points, seeds paired, with its 95% interval "
            "(Student's t); last, the probability over all tasks that a run of the first method "
            "scores more than one of the second, with a bootstrap interval that is too narrow for "
            "few seeds (docs/results.md). A star: a pair that was not chosen beforehand. Pairs "
            f"of fewer than {ENOUGH_SEEDS} seeds are in the CSV alone."
        ),
    )


def beside_default(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of variants of the pruning, `paired` by seed with those of the default pruning."""
    usual = default_pruning(runs)
    same = ["algorithm", "sparsity_percent", "method", "task", "seed"]
    return paired(runs.drop(usual.index), usual, same, how="inner")


def variants_long(runs: pd.DataFrame) -> pd.DataFrame:
    """Each variant's scores beside those of the default pruning, seeds paired.

    runs: of one way to see observations. Returns algorithm, sparsity_percent, method, pruning,
    task, seeds (shared), value (mean score), default (that of the default pruning), gap (their
    difference), low, high (its 95% interval).
    """
    key = ["algorithm", "sparsity_percent", "method", "pruning", "task"]
    rows = []
    names: Any
    for names, cell in beside_default(runs).groupby(key):
        means = (len(cell), cell["score"].mean(), cell["other"].mean())
        rows.append((*names, *means, *astuple(gap(cell))))
    return pd.DataFrame(rows, columns=[*key, "seeds", "value", "default", *GAP])


def variants_table(long: pd.DataFrame, variants: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each criterion and variant: its score on each task, and by how much it is more.

    long: as `variants_long` returns it, with units. variants: what config says of each.
    """
    digits, cells = decimals_by_task(long), []
    by = ("algorithm", "sparsity_percent", "method", "pruning", "task")
    for cell in in_order(long, *by).to_dict("records"):
        name, method, title = cell["pruning"], cell["method"], task_title(long, cell["task"])
        of_runs = f"{cell['algorithm']}, {cell['sparsity_percent']:g} %"
        row = (of_runs, METHOD_LABELS[method], described(method, variants[name]) or name, title)
        places = digits[cell["task"]]
        score = number(cell["value"], places)
        cells.append((*row, score_header(cell["unit"]), score))
        cells.append((*row, "more than by default", interval_text(cell, places, GAP)))
    return Table.spread(
        pd.DataFrame(cells, columns=["runs", "method", "pruning", *CELL_TEXT]),
        {"runs": "Runs", "method": "Method", "pruning": "Pruned with"},
        name="rl_variants",
        title="Other ways to prune.",
        caption=(
            "The paper says that other batches and more pruning iterations than one gave no "
            "improvement (section 4). Mean score over seeds, and the difference to that of the "
            "default pruning, seeds paired, with its 95% interval (Student's t)."
        ),
    )


def described(method: str, variant: Mapping[str, Any]) -> str:
    """Settings of a variant that matter to a method, in words."""
    words = {CRITERIA[method].batch: "{} transitions", "iterations": "{} iterations"}
    return ", ".join(text.format(variant[key]) for key, text in words.items() if key in variant)

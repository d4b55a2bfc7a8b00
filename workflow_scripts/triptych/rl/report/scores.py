"""From evaluations to scores: one number a run, then means and intervals over seeds."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from triptych.report.statistics import Interval, mean_interval, ratio_interval, stratified_interval
from triptych.report.tables import with_cells
from triptych.rl.methods import DENSE
from triptych.rl.tasks.sweep import DEFAULT, KEYS
from triptych.rl.tasks.task import NORMALISED

logger = logging.getLogger(__name__)

RUN = [*KEYS, "algorithm"]
CELL = ["task", "method", "sparsity_percent", "algorithm"]


def score_cells(
    frame: pd.DataFrame, *, scale: str, units: Mapping[str, str], unit: str = NORMALISED
) -> pd.DataFrame:
    """A long frame of scores with the columns of `with_cells`.

    unit: of the tasks that `units` doesn't name.
    """
    long = with_cells(frame, unit=unit, scale=scale)
    return long.assign(unit=[units.get(task, unit) for task in long["task"]])


def with_data(long: pd.DataFrame, data: Mapping[str, str]) -> pd.DataFrame:
    """A long frame with a column `data`: the source of its task's data, "" for all tasks."""
    return long.assign(data=[data.get(task, "") for task in long["task"]])


def default_pruning(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of runs with the default pruning, not a variant of it."""
    return frame[frame["pruning"] == DEFAULT]


def with_observations(frame: pd.DataFrame, observations: str) -> pd.DataFrame:
    """Rows of runs on `raw` or on `normalised` observations, default pruning."""
    return default_pruning(frame[frame["observations"] == observations])


def of_methods(frame: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Rows of these methods, and of dense runs."""
    return frame[frame["method"].isin([DENSE, *methods])]


def shown_level(frame: pd.DataFrame, sparsity_percent: float) -> float:
    """The sparsity to show: the config's, or the highest of the frame where it has no such runs."""
    pruned = set(frame["sparsity_percent"]) - {0}
    return sparsity_percent if sparsity_percent in pruned else max(pruned, default=0)


def run_scores(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The score of each run: the mean over the episodes of its last policy.

    evaluations: rows of scores.csv. Returns one row a run: RUN and score (D4RL-normalised); a run
    that diverged is left out, which is logged.
    """
    last = last_policies(evaluations)
    unscored = last.loc[last["score_normalised"].isna(), RUN].drop_duplicates()
    for run in unscored.itertuples(index=False):
        named = ", ".join(f"{name} {value}" for name, value in zip(RUN, run, strict=True))
        logger.warning("left out, since it diverged: run (%s)", named)
    runs = last.groupby(RUN).agg(score=("score_normalised", "mean"))
    return runs.drop(index=[tuple(run) for run in unscored.to_numpy()]).reset_index()


def last_policies(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The rows of each run's last evaluation."""
    return evaluations[evaluations["update"] == evaluations.groupby(RUN)["update"].transform("max")]


def seed_scores(
    runs: pd.DataFrame, task: str, method: str, sparsity_percent: float, algorithm: str
) -> pd.Series:
    """Scores of one cell, indexed by seed, in order of the seeds (empty where never run)."""
    chosen = runs[
        (runs["task"] == task)
        & (runs["method"] == method)
        & (runs["sparsity_percent"] == sparsity_percent)
        & (runs["algorithm"] == algorithm)
    ]
    return chosen.set_index("seed")["score"].sort_index()


def ratio_to_dense(
    runs: pd.DataFrame, task: str, method: str, sparsity_percent: float, algorithm: str
) -> Interval:
    """Ratio of a cell's mean score to the dense score, paired by seed, with its 95% interval.

    Only seeds that both have count. All nan where they share none, or where the dense mean
    is not positive.
    """
    pruned = seed_scores(runs, task, method, sparsity_percent, algorithm)
    pruned, dense = pruned.align(seed_scores(runs, task, "dense", 0, algorithm), join="inner")
    if dense.empty or dense.mean() <= 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    return ratio_interval(pruned.to_numpy(), dense.to_numpy())


def summarise_scores(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean, range and 95% interval over seeds of each cell, and its ratio to dense.

    Returns task, method, sparsity_percent, algorithm, seeds, value (mean), minimum, maximum,
    low, high, ratio_to_dense, ratio_low, ratio_high.
    """
    rows: list[tuple[Any, ...]] = []
    key: Any
    for key, cell in runs.groupby(CELL):
        task, method, level, algorithm = key
        scores = cell["score"].to_numpy()
        interval = mean_interval(scores)
        ratio = ratio_to_dense(runs, task, method, level, algorithm)
        ends = (scores.min(), scores.max(), interval.low, interval.high)
        ratios = (ratio.estimate, ratio.low, ratio.high)
        rows.append((*key, len(scores), interval.estimate, *ends, *ratios))
    columns = [*CELL, "seeds", "value", "minimum", "maximum", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "ratio_to_dense", "ratio_low", "ratio_high"])


def aggregate_over_tasks(runs: pd.DataFrame) -> pd.DataFrame:
    """Interquartile mean over all tasks and seeds with its 95% interval over seeds.

    Only cells that every task has, so that no aggregate leaves out a hard task. Returns
    method, sparsity_percent, algorithm, seeds (of all tasks), value, low, high.
    """
    tasks = set(runs["task"])
    rows: list[tuple[Any, ...]] = []
    key: Any
    for key, cell in runs.groupby(CELL[1:]):
        if set(cell["task"]) != tasks:
            continue
        strata = [group["score"].to_numpy() for _, group in cell.groupby("task")]
        interval = stratified_interval(strata)
        rows.append((*key, len(cell), interval.estimate, interval.low, interval.high))
    return pd.DataFrame(rows, columns=[*CELL[1:], "seeds", "value", "low", "high"])

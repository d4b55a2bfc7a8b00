"""From evaluations to scores: one number a run, then means and intervals over seeds."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import astuple
from typing import Any, Literal

import pandas as pd

from triptych.core.files import read_frames
from triptych.report.statistics import (
    Interval,
    difference_interval,
    mean_interval,
    ratio_interval,
)
from triptych.report.tables import with_cells
from triptych.rl.methods import DENSE
from triptych.rl.tasks.sweep import DEFAULT, KEYS
from triptych.rl.tasks.task import NORMALISED, SCALED

logger = logging.getLogger(__name__)

RUN = [*KEYS, "algorithm"]
CELL = ["task", "method", "sparsity_percent", "algorithm"]
INTERVAL = ("value", "low", "high")
RATIO = ("ratio_to_dense", "ratio_low", "ratio_high")
UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def score_cells(
    frame: pd.DataFrame,
    evaluations: pd.DataFrame,
    datasets: pd.DataFrame,
    *,
    scale: str,
    unit: str = "{}",
) -> pd.DataFrame:
    """A long frame of scores with the columns of `with_cells` and of `with_sources`.

    evaluations: with the unit of each task's scores. unit: of what is computed from scores between
    references, in whose unit it is.
    """
    usual = unit.format(NORMALISED)
    long = with_sources(with_cells(frame, unit=usual, scale=scale), datasets)
    units = evaluations.drop_duplicates("task").set_index("task")["unit"]
    units = units.replace({own: unit.format(own) for own in SCALED})
    return long.assign(unit=long["task"].map(units).fillna(usual))


def with_sources(long: pd.DataFrame, datasets: pd.DataFrame) -> pd.DataFrame:
    """A long frame with the column data: the source of its task's data, "" for all tasks."""
    sources = datasets.set_index("task")["source"]
    return long.assign(data=long["task"].map(sources).fillna(""))


def default_pruning(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of runs with the default pruning, not a variant of it."""
    return frame[frame["pruning"] == DEFAULT]


def read_scores(files: Any, observations: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The evaluations that figures show (`with_observations`), and the tasks' data sets.

    files: a job's input, with the names scores and datasets.
    """
    scores, datasets = (read_frames(files[name]) for name in ("scores", "datasets"))
    return with_observations(scores, observations), datasets


def with_observations(frame: pd.DataFrame, observations: str) -> pd.DataFrame:
    """Rows of runs on `raw` or on `normalised` observations, default pruning."""
    return default_pruning(frame[frame["observations"] == observations])


def shown_level(frame: pd.DataFrame, sparsity_percent: float) -> float:
    """The sparsity to show: the config's, or the highest of the frame where it has no such runs."""
    pruned = set(frame["sparsity_percent"]) - {0}
    return sparsity_percent if sparsity_percent in pruned else max(pruned, default=0)


def by_level(long: pd.DataFrame, shown: float) -> list[pd.DataFrame]:
    """Rows of each sparsity with the dense ones: those of the shown sparsity first."""
    others = sorted(set(long["sparsity_percent"]) - {0, shown})
    return [long[long["sparsity_percent"].isin([0, level])] for level in (shown, *others)]


def run_scores(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The score of each run: the mean over the episodes of its last policy.

    evaluations: rows of scores.csv. Returns one row a run: RUN, trained_on (of runs on few
    transitions), unit and score; a run that diverged is left out, which is logged.
    """
    key = [name for name in (*RUN, "trained_on", "unit") if name in evaluations]
    scores = last_policies(evaluations).groupby(key)["score_normalised"]
    runs = scores.mean(skipna=False).rename("score").reset_index()
    diverged = runs["score"].isna()
    for run in runs.loc[diverged, RUN].to_dict("records"):
        named = ", ".join(f"{name} {value}" for name, value in run.items())
        logger.warning("left out, since it diverged: run (%s)", named)
    return runs[~diverged].reset_index(drop=True)


def last_policies(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The rows of each run's last evaluation."""
    run = [name for name in (*RUN, "trained_on") if name in evaluations]
    return evaluations[evaluations["update"] == evaluations.groupby(run)["update"].transform("max")]


def paired(
    runs: pd.DataFrame, others: pd.DataFrame, on: Collection[str], how: Literal["inner", "left"]
) -> pd.DataFrame:
    """Runs beside the runs among others that have the same values of `on`, whose score is `other`.

    how: what becomes of a run without such a partner: left out (inner), or `other` is nan (left).
    """
    return runs.merge(others[[*on, "score"]].rename(columns={"score": "other"}), how, [*on])


def gap(pairs: pd.DataFrame) -> Interval:
    """Mean of score minus other with its 95% interval; all nan where there is no pair."""
    return difference_interval(pairs["score"], pairs["other"]) if len(pairs) else UNKNOWN


def columns_of(interval: Interval, names: Sequence[str] = INTERVAL) -> dict[str, float]:
    """An interval as columns of a long frame: estimate, lower and upper end."""
    return dict(zip(names, astuple(interval), strict=True))


def summarise_scores(runs: pd.DataFrame, by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean, range and 95% interval over seeds of each cell, and its ratio to dense.

    by: columns that name a cell. Returns these, seeds, minimum, maximum, INTERVAL and RATIO; the
    ratio is paired by seed, and nan where a cell shares no seed with dense runs or the dense mean
    is not positive.
    """
    dense, partner = runs[runs["method"] == DENSE], {*by, "seed"} - {"method", "sparsity_percent"}
    rows = []
    key: Any
    for key, cell in paired(runs, dense, partner, how="left").groupby([*by]):
        scores, pairs = cell["score"], cell.dropna(subset="other")
        positive = len(pairs) and pairs["other"].mean() > 0
        ratio = ratio_interval(pairs["score"], pairs["other"]) if positive else UNKNOWN
        row = {**dict(zip(by, key, strict=True)), "seeds": len(cell)}
        row |= {"minimum": scores.min(), "maximum": scores.max()}
        rows.append(row | columns_of(mean_interval(scores)) | columns_of(ratio, RATIO))
    columns = [*by, "seeds", "minimum", "maximum", *INTERVAL, *RATIO]
    return pd.DataFrame(rows, columns=columns)

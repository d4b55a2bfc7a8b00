"""Scores of the dense runs and of pruned ones.

A run's score is the mean of its last evaluations; it is D4RL-normalised where its column names no
other unit. Mean over seeds with its 95% interval; ratio to the dense runs, seeds paired. All tasks:
interquartile mean over tasks and seeds, seeds drawn within tasks. The paper prints no scores.
"""

from typing import Any

import pandas as pd

from triptych.core.job import job
from triptych.report.statistics import stratified_interval
from triptych.report.tables import DASH, Table, write_table
from triptych.rl.methods import DENSE
from triptych.rl.report.labels import (
    ALL_TASKS,
    ENOUGH_SEEDS,
    METHOD_LABELS,
    in_order,
    task_title,
)
from triptych.rl.report.scores import (
    CELL,
    INTERVAL,
    RATIO,
    by_level,
    columns_of,
    read_scores,
    run_scores,
    score_cells,
    shown_level,
    summarise_scores,
)
from triptych.rl.report.tables import CELL_TEXT, decimals_by_task, interval_text, score_header
from triptych.rl.tasks.task import SCALED


def numbers(runs: pd.DataFrame) -> pd.DataFrame:
    """Scores of the dense and of the pruned runs, each task and all tasks.

    Rows of ALL_TASKS hold the interquartile mean over the tasks whose scores are normalised, its
    interval over seeds drawn within tasks, and no ratio.
    """
    parts = [summarise_scores(runs)]
    alike = runs[runs["unit"].isin(SCALED)]
    if alike["task"].nunique() > 1:
        parts.append(aggregate_over_tasks(alike).assign(task=ALL_TASKS))
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def aggregate_over_tasks(runs: pd.DataFrame) -> pd.DataFrame:
    """Interquartile mean over all tasks and seeds with its 95% interval over seeds.

    Only cells that every task has, so that no aggregate leaves out a hard task. Returns
    method, sparsity_percent, algorithm, seeds (of all tasks), INTERVAL.
    """
    rows = []
    key: Any
    for key, cell in runs.groupby(CELL[1:]):
        if cell["task"].nunique() == runs["task"].nunique():
            interval = stratified_interval([scores for _, scores in cell.groupby("task")["score"]])
            row = {**dict(zip(CELL[1:], key, strict=True)), "seeds": len(cell)}
            rows.append(row | columns_of(interval))
    return pd.DataFrame(rows, columns=[*CELL[1:], "seeds", *INTERVAL])


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """A row an algorithm and method, columns the tasks. long: rows of one sparsity, and dense."""
    of_tasks, digits, cells = long[long["task"] != ALL_TASKS], decimals_by_task(long), []
    seeds_of = of_tasks.groupby("algorithm")["seeds"].max().astype(int)
    for cell in in_order(long, "algorithm", "method", "task").to_dict("records"):
        name = f"{cell['algorithm']}, {METHOD_LABELS[cell['method']]}"
        seeds, most = cell["seeds"], seeds_of[cell["algorithm"]]
        if cell["task"] == ALL_TASKS:
            text = interval_text({**cell, "seeds": most}, 1)
            cells.append((name, "All tasks", "interquartile mean", text))
            continue
        task, text = task_title(long, cell["task"]), interval_text(cell, digits[cell["task"]])
        left = "" if seeds == most else f" ({seeds} of {most} seeds)"
        ratio = DASH if cell["method"] == DENSE else interval_text(cell, 2, RATIO)
        cells.append((name, task, score_header(cell["unit"]), text + left))
        cells.append((name, task, "ratio to dense", ratio))
    seeds = ", ".join(f"{algorithm}: {seeds} seeds" for algorithm, seeds in seeds_of.items())
    fewer = (of_tasks["seeds"] < of_tasks["algorithm"].map(seeds_of)).any()
    return Table.spread(
        pd.DataFrame(cells, columns=["name", *CELL_TEXT]),
        {"name": "Algorithm, method"},
        name="rl_scores",
        title=title,
        caption=(
            f"Pruned to {long['sparsity_percent'].max():g}%. {caption} {seeds}; fewer than "
            f"{ENOUGH_SEEDS} show no interval."
            + (" Runs that diverged have no score and are left out." if fewer else "")
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        long = score_cells(numbers(run_scores(scores)), scores, datasets, scale=params.scale)
        shown, *others = (
            table(rows, params.title, params.caption)
            for rows in by_level(long, shown_level(scores, params.sparsity))
        )
        write_table(long, shown, snakemake.output, others)

"""Other ways to prune.

The paper says that other batches and more pruning iterations than one gave no improvement (section
4). Mean score over seeds, and the difference to that of the default pruning, seeds paired, with its
95% interval (Student's t).
"""

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import Table, number, write_table
from triptych.rl.report.labels import METHOD_LABELS, in_order, task_title
from triptych.rl.report.scores import gap, run_scores, score_cells
from triptych.rl.report.tables import (
    CELL_TEXT,
    beside_default,
    decimals_by_task,
    described,
    interval_text,
    score_header,
)

KEY = ["algorithm", "sparsity_percent", "method", "pruning", "task"]
GAP = ("gap", "low", "high")


def numbers(runs: pd.DataFrame) -> pd.DataFrame:
    """Each variant's scores beside those of the default pruning, seeds paired.

    runs: of one way to see observations. Returns KEY, seeds (shared), value (mean score), default
    (that of the default pruning), gap (their difference), low, high (its 95% interval).
    """
    rows = []
    names: Any
    for names, cell in beside_default(runs).groupby(KEY):
        means = (len(cell), cell["score"].mean(), cell["other"].mean())
        rows.append((*names, *means, *astuple(gap(cell))))
    return pd.DataFrame(rows, columns=[*KEY, "seeds", "value", "default", *GAP])


def table(
    long: pd.DataFrame, variants: Mapping[str, Mapping[str, Any]], title: str, caption: str
) -> Table:
    """A row for each criterion and variant: its score on each task, and by how much it is more.

    long: as `numbers` returns it, with units and data. variants: what config says of each.
    """
    digits, cells = decimals_by_task(long), []
    for cell in in_order(long, *KEY).to_dict("records"):
        name, method, task = cell["pruning"], cell["method"], task_title(long, cell["task"])
        of_runs = f"{cell['algorithm']}, {cell['sparsity_percent']:g} %"
        row = (of_runs, METHOD_LABELS[method], described(method, variants[name]) or name, task)
        places = digits[cell["task"]]
        score = number(cell["value"], places)
        cells.append((*row, score_header(cell["unit"]), score))
        cells.append((*row, "more than by default", interval_text(cell, places, GAP)))
    return Table.spread(
        pd.DataFrame(cells, columns=["runs", "method", "pruning", *CELL_TEXT]),
        {"runs": "Runs", "method": "Method", "pruning": "Pruned with"},
        name="rl_variants",
        title=title,
        caption=caption,
    )


if __name__ == "__main__":
    with job(snakemake):
        params, datasets = snakemake.params, read_frames(snakemake.input.datasets)
        scores = read_frames(snakemake.input.scores)
        scores = scores[scores["observations"] == params.observations]
        long = score_cells(numbers(run_scores(scores)), scores, datasets, scale=params.scale)
        shown = table(long, params.variants, params.title, params.caption)
        write_table(long, shown, snakemake.output)

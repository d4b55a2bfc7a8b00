"""Methods compared two by two.

Difference of the mean scores in points, seeds paired, with its 95% interval (Student's t); last,
the probability over all tasks that a run of the first method scores more than one of the second,
with a bootstrap interval that is too narrow for few seeds (docs/results.md). A star: a pair that
was not chosen beforehand.
"""

import pandas as pd

from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import Table, plain, write_table
from triptych.rl.report.labels import (
    ALL_TASKS,
    ENOUGH_SEEDS,
    METHOD_LABELS,
    task_title,
    task_unit,
    tasks_in_order,
)
from triptych.rl.report.scores import read_scores, run_scores, score_cells
from triptych.rl.report.tables import (
    CELL_TEXT,
    POINTS,
    comparisons_long,
    decimals_by_task,
    interval_text,
)
from triptych.rl.tasks.task import NORMALISED, OWN


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """The registered pairs at every sparsity, and all others at the highest.

    long: as `comparisons_long` returns it, with units and data.
    """
    highest = long["sparsity_percent"].max()
    shown = long[long["registered"] | (long["sparsity_percent"] == highest)]
    shown = shown[shown["seeds"] >= ENOUGH_SEEDS].sort_values(
        "registered", ascending=False, kind="stable"
    )
    digits, headers = decimals_by_task(shown), {}
    short = {POINTS.format(NORMALISED): "", POINTS.format(OWN): " (own reference)"}
    for task in tasks_in_order(shown):
        unit = task_unit(shown, task)
        headers[task] = task_title(shown, task) + short.get(unit, f" ({unit})")
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
        title=title,
        caption=f"{caption} Pairs of fewer than {ENOUGH_SEEDS} seeds are in the CSV alone.",
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        long = comparisons_long(run_scores(scores))
        long = score_cells(long, scores, datasets, scale=params.scale, unit=POINTS)
        rest = long[~long["registered"] & (long["seeds"] >= ENOUGH_SEEDS)]
        rest = rest[rest["sparsity_percent"] < long["sparsity_percent"].max()]
        shown, *others = (
            table(rows, params.title, params.caption)
            for rows in (long, *(level for _, level in rest.groupby("sparsity_percent")))
        )
        write_table(long, shown, snakemake.output, others)

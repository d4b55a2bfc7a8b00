"""Variants of the pruning: other batches, more iterations, other data to prune with."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from triptych.core.statistics import difference_interval
from triptych.report.palette import label
from triptych.report.tables import DASH, Table, number, with_cells
from triptych.rl.methods import METHODS
from triptych.rl.report.figures import task_title, task_unit, tasks_in_order
from triptych.rl.report.labels import METHOD_LABELS
from triptych.rl.report.scores import in_units, seed_scores
from triptych.rl.report.tables import DIGITS, interval_text
from triptych.rl.sweep import DEFAULT
from triptych.rl.tasks import NORMALISED


def variants_long(runs: pd.DataFrame, *, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Each variant's scores beside those of the default pruning, seeds paired.

    runs: as `run_scores` returns them, of one way to see observations. units: of the tasks whose
    scores aren't normalised. Returns algorithm,
    sparsity_percent, method, pruning, task, seeds (shared), value (mean score), default (that of
    the default pruning), gap (their difference), low, high (its 95% interval, Student's t).
    """
    usual, records = runs[runs["pruning"] == DEFAULT], []
    varied = runs[runs["pruning"] != DEFAULT]
    key = ["algorithm", "sparsity_percent", "method", "pruning"]
    for names, cell in varied.groupby(key, sort=False):
        assert isinstance(names, tuple)
        algorithm, level, method = str(names[0]), float(str(names[1])), str(names[2])
        for task in tasks_in_order(cell):
            own, other = (
                seed_scores(frame, task, method, level, algorithm) for frame in (cell, usual)
            )
            shared = own.index.intersection(other.index)
            if shared.empty:
                continue
            gap = difference_interval(own[shared], other[shared])
            records.append(
                {
                    **dict(zip(key, names, strict=True)),
                    **{"task": task, "seeds": len(shared)},
                    **{"value": own[shared].mean(), "default": other[shared].mean()},
                    **{"gap": gap.estimate, "low": gap.low, "high": gap.high},
                }
            )
    columns = [*key, "task", "seeds", "value", "default", "gap", "low", "high"]
    frame = pd.DataFrame(records, columns=columns)
    return in_units(with_cells(frame, unit=NORMALISED, scale=scale), units)


def variants_table(long: pd.DataFrame, variants: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each criterion and variant: its score on each task, and by how much it is more.

    long: as `variants_long` returns it. variants: what config says of each.
    """
    tasks, rows = tasks_in_order(long), []
    for (runs, of_runs), method, pruning in product(
        long.groupby(["algorithm", "sparsity_percent"]), METHODS, variants
    ):
        cells = of_runs[(of_runs["method"] == method) & (of_runs["pruning"] == pruning)]
        if cells.empty:
            continue
        assert isinstance(runs, tuple)
        line = [
            f"{runs[0]}, {runs[1]:g} %",
            label(METHOD_LABELS, method),
            described(method, variants[pruning]),
        ]
        for task in tasks:
            cell, digits = cells[cells["task"] == task], DIGITS.get(task_unit(long, task), 1)
            line.append(number(cell["value"].iloc[0], digits) if len(cell) else DASH)
            line.append(interval_text(cell, ("gap", "low", "high"), digits))
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
            "improvement (section 4), and that nothing is promised where the data to prune with "
            "are not those to train with (section 5). Mean score over seeds, and the difference to "
            "that of the default pruning, seeds paired, with its 95% interval (Student's t)."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        keys=3,
    )


def described(method: str, variant: Mapping[str, Any]) -> str:
    """What a variant changes for a method, in words."""
    words = {
        METHODS[method].batch: "{} transitions",
        "iterations": "{} iterations",
        "quality": "{} data",
    }
    return ", ".join(text.format(variant[key]) for key, text in words.items() if key in variant)

"""Data sets.

Mean and standard deviation over episodes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import DASH, Table, number, plain, write_table
from triptych.rl.report.labels import TASK_LABELS
from triptych.rl.report.tables import decimals
from triptych.rl.tasks.task import NORMALISED, SCALED, UNLIMITED

SOURCES = {
    "d4rl": "D4RL expert, downloaded",
    "minari": "a Minari data set",
    "collected": "collected here, not D4RL",
    "path": "a file of the user",
}


def numbers(datasets: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Rows of dataset.csv with the unit of each task's scores. scores: task, unit."""
    units = scores.drop_duplicates("task").set_index("task")["unit"]
    return datasets.assign(unit=datasets["task"].map(units).fillna(NORMALISED))


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """A row a task. long: as `numbers` returns it."""
    rows, notes = [], [caption]
    for data in long.to_dict("records"):
        kind, _, quality = str(data["source"]).partition(" ")
        task, scored = label(TASK_LABELS, data["task"]), data["unit"] in SCALED
        rows.append(
            (
                task,
                SOURCES.get(kind, kind).replace("expert", quality or "expert"),
                Path(data["file"]).name,
                *(f"{data[name]:,}" for name in ("transitions", "episodes")),
                _deviating(data, "return", decimals(data["return_mean"]) - 1),
                _deviating(data, "score_normalised", 1) if scored else DASH,
                *(f"{data[name]:,}" for name in ("terminals", "timeouts")),
            )
        )
        if data["limit_from"] == UNLIMITED:
            steps = f"{data['limit_steps']:,.0f} steps"
            notes.append(f"Nothing shows a time limit of {task}: evaluations cut it after {steps}.")
        if not scored:
            notes.append(
                f"{task} has no reference scores: what stands for its score is the "
                f"{data['unit']}, and it is in no mean over tasks and in no claim."
            )
    headers = ("Task", "Source", "File", "Transitions", "Episodes")
    return Table(
        name="rl_datasets",
        title=title,
        caption=" ".join(notes),
        columns=plain(*headers, "Return", "Normalised score", "Falls", "Time limits"),
        rows=rows,
        keys=3,
    )


def _deviating(row: Mapping[Any, Any], name: str, digits: int) -> str:
    return f"{number(row[f'{name}_mean'], digits)} ± {number(row[f'{name}_std'], digits)}"


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        datasets, scores = (read_frames(snakemake.input[name]) for name in ("datasets", "scores"))
        long = numbers(datasets, scores)
        write_table(long, table(long, params.title, params.caption), snakemake.output)

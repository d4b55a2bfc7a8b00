"""The style paper's headline numbers, beside this run's."""

import pandas as pd

from triptych.report.scoreboard import Headline
from triptych.report.tables import TIMES, number
from triptych.style.report.tables import COLUMNS, SCALED

SIZE = 512
"""Pixels at which the paper compares; a run that timed others shows its largest of Table I."""


def headlines(table1: pd.DataFrame) -> list[Headline]:
    """Seconds an image of both versions, and how much faster AlexNet is than VGG-19.

    table1: the long table. Seconds of all evaluations that the paper states, where fewer were run.
    """
    printed = table1[table1["published"].notna() & table1["column"].isin(COLUMNS)]
    timed = printed.dropna(subset=["value"])["size"]
    size = SIZE if timed.empty or SIZE in set(timed) else int(timed.max())
    rows = printed[printed["size"] == size]
    rows = rows.sort_values("counts", key=lambda counts: counts != SCALED, kind="stable")
    cells = {str(cell["column"]): cell for _, cell in rows.drop_duplicates("column").iterrows()}
    found = [_seconds(size, column, cells[column]) for column in COLUMNS]
    ours = float(cells["vgg"]["value"]) / float(cells["alexnet"]["value"])
    faster = Headline("", "", 5, ours, TIMES, 1, claim="style-alexnet-faster")
    return [*found, faster]


def _seconds(size: int, column: str, cell: pd.Series) -> Headline:
    digits = 3 if column == "network" else 1
    if pd.isna(cell["value"]):
        unlike = f"{size} pixels were not timed."
    elif str(cell["comparable"]) == "True":
        unlike = ""
    else:
        unlike = (
            f"Measured with {str(cell['architecture']).replace('_', ' ')} on {cell['device']}, not "
            "with the paper's networks and evaluations on a GPU: config/paper.yaml does."
        )
    ends = [f"{number(cell[end], digits)}" for end in ("minimum", "maximum")]
    return Headline(
        text=f"{COLUMNS[column][0]}: seconds for an image of {size} pixels",
        where="Table I",
        published=cell["published"],
        ours=cell["value"],
        unit=" s",
        digits=digits,
        interval="" if pd.isna(cell["value"]) else f"{ends[0]} to {ends[1]} s over images",
        unlike=unlike,
    )

"""Scores by update: a picture that shows a stack's training while it runs."""

from pathlib import Path

import pandas as pd

from triptych.core.files import atomic_path
from triptych.report.palette import styled
from triptych.rl.report.figures import curves_figure, curves_long

INFRASTRUCTURE = True  # nothing is learnt from it


@styled
def draw_curves(scores: pd.DataFrame, path: str | Path) -> None:
    """Draw the scores against updates as a PNG, a row an algorithm, a line a method.

    scores: rows of scores.csv so far, of one task; of pruned runs those of the highest sparsity are
    shown.
    """
    long = curves_long(scores, scores["sparsity_percent"].max())
    figure = curves_figure(long.assign(unit=scores["unit"].iloc[0], data=""))
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)

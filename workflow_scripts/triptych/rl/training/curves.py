"""Scores by update: a picture that shows a stack's training while it runs."""

from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from triptych.core.files import atomic_path
from triptych.report.palette import STYLE
from triptych.rl.report.labels import METHOD_LOOKS

INFRASTRUCTURE = True  # nothing is learnt from it


def draw_curves(scores: pd.DataFrame, path: str | Path) -> None:
    """Draw the mean score over seeds against updates as a PNG, a line for each method.

    scores: rows of scores.csv so far; of pruned runs those of the highest sparsity are shown.
    """
    level = scores["sparsity_percent"].max()
    shown = scores[scores["sparsity_percent"].isin([0, level])]
    means = shown.groupby(["algorithm", "method", "update"])["score_normalised"].mean()
    algorithms = list(dict.fromkeys(scores["algorithm"]))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.8 + 4.2 * len(algorithms), 3.4), layout="constrained")
        panels = figure.subplots(1, len(algorithms), squeeze=False)[0]
        for axes, algorithm in zip(panels, algorithms, strict=True):
            for method, line in means[algorithm].groupby("method"):
                look = METHOD_LOOKS[str(method)]
                label = look.label if method == "dense" else f"{look.label} {level:g}%"
                updates = line.index.get_level_values("update")
                style = {"color": look.colour, "linestyle": look.dash, "marker": look.marker}
                axes.plot(updates, line, **style, markersize=3, label=label)
            axes.set_title(f"{algorithm}, {scores['task'].iloc[0]}")
            axes.set_xlabel("updates")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.set_ylabel(str(scores["unit"].iloc[0]))
        panels[-1].legend()
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=100)

"""Beyond the paper: where data are few.

Score against the number of transitions that a network was trained on, the first of each task's
data, by which its mask was found too: mean over seeds, with the 95% interval of the mean.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import draw_line, named_look, score_panels
from triptych.rl.report.labels import METHOD_LABELS
from triptych.rl.report.scores import INTERVAL, run_scores, score_cells, summarise_scores

CELL = ["task", "algorithm", "trained_on", "method", "sparsity_percent"]


def numbers(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds and its 95% interval of runs on few transitions: CELL, seeds, INTERVAL.

    runs: as `run_scores` returns them, with trained_on.
    """
    return summarise_scores(runs, CELL)[[*CELL, "seeds", *INTERVAL]]


def figure(long: pd.DataFrame, behaviour: pd.DataFrame) -> Figure:
    """Score against transitions: a column a task, a row an algorithm, a line a method.

    long: as `numbers` returns it, with units and data. behaviour: task, score_normalised_mean of
    the policy that made the data. Bands are 95% intervals of the mean; a single seed has none.
    """
    counts = sorted(set(long["trained_on"]))

    def draw(axes: Axes, cells: pd.DataFrame, algorithm: str) -> None:
        for method in (name for name in METHOD_LABELS if (cells["method"] == name).any()):
            line = cells[cells["method"] == method].sort_values("trained_on")
            look = {**named_look(method, line["sparsity_percent"].iloc[0]), "linestyle": "solid"}
            band = ("low", "high")
            draw_line(axes, line["trained_on"], line, band, marker="o", markersize=3.5, **look)
        axes.set_xscale("log")
        axes.set_xticks(counts, [f"{count:,}" for count in counts], rotation=30, ha="right")
        axes.set_xticks([], minor=True)

    means = ("value", "value")
    return score_panels(
        long, draw, "transitions", behaviour=behaviour, within=means, legend_columns=5
    )


if __name__ == "__main__":
    with job(snakemake):
        scores, datasets = (read_frames(snakemake.input[name]) for name in ("scores", "datasets"))
        long = numbers(run_scores(scores))
        long = score_cells(long, scores, datasets, scale=snakemake.params.scale)
        write_figure(figure(long, datasets), long, snakemake.output)

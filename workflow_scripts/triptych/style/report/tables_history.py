"""Loss histories of Version 1, made comparable: each relative to its own first evaluation."""

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import with_cells
from triptych.style.report.labels import ARCHITECTURE_LABELS

DESCRIBED = [
    "content",
    "painting",
    "backbone",
    "architecture",
    "weights",
    "preset",
    "rates",
    "optimizer",
    "content_loss",
    "initialisation",
    "size",
    "status",
]


def described(runs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """The runs of one experiment, first repeats alone. Raises ValueError where there are none."""
    chosen = runs[runs["experiment"] == experiment]
    if chosen.empty:
        raise ValueError(
            f"no run of experiment {experiment!r}; there are: {sorted(set(runs['experiment']))}"
        )
    return chosen[chosen["repeat"] == chosen["repeat"].min()].reset_index(drop=True)


def history_long(
    history: pd.DataFrame, runs: pd.DataFrame, *, experiment: str, scale: str
) -> pd.DataFrame:
    """Total, style and content loss of each evaluation over the run's first total loss.

    One row an evaluation and term (`term`: total, style, content), with what describes its
    run. Losses of runs that weigh their terms differently share no unit; relative ones do.
    """
    chosen = described(runs, experiment)
    wanted = history[(history["experiment"] == experiment) & history["run"].isin(chosen["run"])]
    ordered = wanted.sort_values(["run", "evaluation"], kind="stable")
    first = ordered.groupby("run")["total"].transform("first")
    parts = []
    for term in ("total", "style", "content"):
        part = ordered[["experiment", "run", "evaluation"]].assign(
            term=term, value=ordered[term] / first, loss=ordered[term]
        )
        parts.append(part)
    names = [column for column in DESCRIBED if column in chosen]
    melted = pd.concat(parts, ignore_index=True).merge(chosen[["run", *names]], on="run")
    return with_cells(melted, unit="relative to the first total loss", scale=scale)


def smoothed(line: pd.Series) -> pd.Series:
    """Running median over a tenth of the evaluations (at least three): steps of a line search
    that overshoot are no trend."""
    window = max(len(line) // 10 | 1, 3)
    return line.rolling(window, center=True, min_periods=1).median()


def backbone_name(architecture: str, weights: str) -> str:
    """`VGG-19`, or with its weights where they are not ImageNet's: `narrow VGG (embedded)`."""
    name = label(ARCHITECTURE_LABELS, str(architecture))
    if weights == "imagenet":
        return name
    return f"{name} ({weights if weights == 'embedded' else 'own weights'})"

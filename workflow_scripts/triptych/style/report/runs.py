"""Long frames of runs: losses, times and quality of Version 1, seconds of Version 2."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import with_cells
from triptych.style.optimise import choices
from triptych.style.report.labels import (
    ARCHITECTURE_LABELS,
    MEASURE_LABELS,
    ORIGIN_LABELS,
    RATES_LABELS,
)

Row = Mapping[Any, Any]
"""A row of a frame, by column."""

DESCRIBED = [*choices.DESCRIBED, "status"]
UNITS = {
    "relative_loss_final": "relative to the first total loss",
    "seconds": "seconds",
    "evaluations_done": "evaluations",
    **dict.fromkeys(MEASURE_LABELS, ""),
}


def history_long(history: pd.DataFrame, runs: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Total, style and content loss of these runs over their first total loss.

    A row an evaluation and `term`, with the columns that describe its run. Names of runs must be
    unique.
    """
    ordered = history.merge(runs[["experiment", "run"]], on=["experiment", "run"])
    ordered = ordered.sort_values(["run", "evaluation"], kind="stable")
    keys = ["experiment", "run", "evaluation"]
    first = ordered.groupby("run")["total"].transform("first")
    long = ordered.assign(first=first).melt(
        [*keys, "first"], ["total", "style", "content"], "term", "loss"
    )
    long["value"] = long["loss"] / long.pop("first")
    names = [column for column in DESCRIBED if column in runs]
    long = long.merge(runs[["run", *names]], on="run")
    return with_cells(long, unit=UNITS["relative_loss_final"], scale=scale)


def in_order(frame: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The rows in the order that the values of a column have in these."""
    place = list(names).index
    return frame.sort_values(column, key=lambda values: values.map(place), kind="stable")


def backbone_name(run: Row) -> str:
    """`VGG-19`, or with its weights where they are not ImageNet's: `VGG-16 (hed)`."""
    name, weights = label(ARCHITECTURE_LABELS, run["architecture"]), run["weights"]
    if weights == "imagenet":
        return name
    return f"{name} ({weights if weights in ('embedded', 'hed') else 'own weights'})"


def origin_name(run: Row) -> str:
    """Where the network of a result comes from: `trained in this run`."""
    return label(ORIGIN_LABELS, run["origin"])


def rates_name(run: Row) -> str:
    """A run's backbone and rates: `VGG-19, authors' rates`."""
    return f"{backbone_name(run)}, {RATES_LABELS[run['rates']]}"


def with_measures(runs: pd.DataFrame, quality: pd.DataFrame) -> pd.DataFrame:
    """Runs of Version 1 with the four measures of their images. quality: rows of quality/*.csv."""
    keys = ["experiment", "run"]
    measures = quality[quality["version"] == 1].drop_duplicates(keys)[[*keys, *MEASURE_LABELS]]
    return runs.merge(measures.astype(dict.fromkeys(keys, object)), on=keys, how="left")


def results_long(runs: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """One row a run and measure: final relative loss, seconds, evaluations and, where they are
    among the columns, the four measures of its image."""
    keys = ["experiment", "run", *(name for name in DESCRIBED if name in runs)]
    return by_measure(runs, keys, scale)


def stylised_long(
    stylised: pd.DataFrame, *, content: str, painting: str, scale: str
) -> pd.DataFrame:
    """Seconds of one image stylised by Version 2, and what describes it."""
    row = of_pair(stylised, {"content": content, "painting": painting}).head(1)
    return with_cells(row.rename(columns={"seconds": "value"}), unit="seconds", scale=scale)


def by_measure(frame: pd.DataFrame, keys: Sequence[str], scale: str) -> pd.DataFrame:
    """A row for each of the frame's rows and measure that has a value."""
    measures = [name for name in UNITS if name in frame and name not in keys]
    long = frame.melt([*keys], measures, "measure", "value").dropna(subset="value")
    cells = with_cells(long.reset_index(drop=True), unit="", scale=scale)
    cells["unit"] = cells["measure"].map(UNITS)
    return cells


def of_pair(frame: pd.DataFrame, pair: dict[str, str]) -> pd.DataFrame:
    """Rows of a content and painting; none where a picture is missing."""
    return frame[(frame[list(pair)] == list(pair.values())).all(axis=1)]

"""What is written under the images of Versions 1 and 2: losses, times and quality, long."""

import itertools
from collections.abc import Sequence

import pandas as pd

from triptych.report.tables import with_cells
from triptych.style.report.labels import MEASURE_LABELS
from triptych.style.report.tables_history import DESCRIBED, described

UNITS = {
    "relative_loss_final": "relative to the first total loss",
    "seconds": "seconds",
    "evaluations_done": "evaluations",
    **{measure: "" for measure in MEASURE_LABELS},
}


def results_long(
    runs: pd.DataFrame,
    quality: pd.DataFrame | None = None,
    *,
    experiment: str,
    scale: str,
) -> pd.DataFrame:
    """One row a run of the experiment and measure: final relative loss, seconds, evaluations and,
    where `quality` (rows of quality.csv) is given, its four measures."""
    chosen = described(runs, experiment)
    if quality is not None:
        of_version_1 = quality[
            (quality["version"] == 1) & (quality["experiment"] == experiment)
        ].drop_duplicates("run")
        chosen = chosen.merge(of_version_1[["run", *MEASURE_LABELS]], on="run", how="left")
    keys = ["experiment", "run", *(name for name in DESCRIBED if name in chosen)]
    measures = [name for name in UNITS if name in chosen]
    long = chosen.melt(id_vars=keys, value_vars=measures, var_name="measure", value_name="value")
    long = long[long["value"].notna()].reset_index(drop=True)
    cells = with_cells(long, unit="", scale=scale)
    cells["unit"] = cells["measure"].map(UNITS)
    return cells


def versions_long(
    runs: pd.DataFrame,
    stylised: pd.DataFrame,
    quality: pd.DataFrame,
    *,
    content: str,
    painting: str,
    scale: str,
) -> pd.DataFrame:
    """Figure 1's numbers: seconds and quality of both versions for one content and painting.

    runs: of Version 1, experiment `paintings`. stylised: rows of stylised/*/runs.csv.
    Raises ValueError where either version was not run on this pair.
    """
    pair = {"content": content, "painting": painting}
    first = results_long(
        _of_pair(runs, pair, "Version 1"), quality, experiment="paintings", scale=scale
    )
    second = _of_pair(stylised, pair, "Version 2").head(1)
    measured = quality[quality["version"] == 2]
    measured = measured[(measured[list(pair)] == list(pair.values())).all(axis=1)].head(1)
    row = second.reset_index(drop=True)
    for measure in MEASURE_LABELS:
        row[measure] = measured[measure].iloc[0] if len(measured) else float("nan")
    long = row.melt(
        id_vars=["painting", "content", "origin", "width", "batches"],
        value_vars=["seconds", *MEASURE_LABELS],
        var_name="measure",
        value_name="value",
    )
    cells = with_cells(long[long["value"].notna()], unit="", scale=scale)
    cells["unit"] = cells["measure"].map(UNITS)
    first.insert(0, "version", 1)
    cells.insert(0, "version", 2)
    return pd.concat([first, cells], ignore_index=True)


def styles_long(stylised: pd.DataFrame, contents: Sequence[str], *, scale: str) -> pd.DataFrame:
    """Seconds of one photograph in each style; the photographs take turns.

    stylised: rows of stylised/*/runs.csv.
    """
    rows = [
        _of_pair(stylised, {"painting": painting, "content": content}, "Version 2").head(1)
        for painting, content in zip(
            dict.fromkeys(stylised["painting"]), itertools.cycle(contents), strict=False
        )
    ]
    long = pd.concat(rows, ignore_index=True).rename(columns={"seconds": "value"})
    return with_cells(long, unit="seconds", scale=scale)


def stylised_long(
    stylised: pd.DataFrame, *, content: str, painting: str, scale: str
) -> pd.DataFrame:
    """Figure 8's numbers: seconds of one image stylised by Version 2, and what describes it."""
    row = _of_pair(stylised, {"content": content, "painting": painting}, "Version 2").head(1)
    return with_cells(row.rename(columns={"seconds": "value"}), unit="seconds", scale=scale)


def _of_pair(frame: pd.DataFrame, pair: dict[str, str], version: str) -> pd.DataFrame:
    chosen = frame[(frame[list(pair)] == list(pair.values())).all(axis=1)]
    if chosen.empty:
        raise ValueError(f"{version} was not run on {pair['content']} with {pair['painting']}")
    return chosen


def measured(long: pd.DataFrame, measure: str, **where: object) -> float:
    """One number of a long frame (nan where there is none)."""
    cells = long[long["measure"] == measure]
    for column, value in where.items():
        cells = cells[cells[column] == value]
    return float(cells["value"].iloc[0]) if len(cells) else float("nan")

"""Quality of every result.

Mean and 95% interval over images; one image has none. Structure: structural similarity of luminance
to the content; edges: correlation of edge maps. Both are best at 1. Style: distance of Gram
matrices to the painting on a backbone that no result was optimised with; colour: sliced Wasserstein
distance. Both are best at 0. A result that changes nothing keeps all structure and has no style.
"""

import numpy as np
import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label, spoken
from triptych.report.statistics import Interval, mean_interval
from triptych.report.tables import Table, number, plain, with_cells, with_interval, write_table
from triptych.style.report.labels import EXPERIMENT_LABELS, MEASURE_LABELS, ORIGIN_LABELS

GROUPED = "paintings"
"""Version 1's runs of this experiment differ in their content and count together."""

RESULT = ["version", "experiment", "painting", "result", "origin"]
"""What tells one result from another in the table of quality."""


def numbers(quality: pd.DataFrame, stylised: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Each measure's mean and 95% interval over images, of rows of quality.csv and of
    stylised/*/runs.csv. Version 1's results count together by painting in the experiment
    `paintings`, and run by run elsewhere; Version 2's by painting."""
    origins = stylised.drop_duplicates("painting").set_index("painting")["origin"]
    frame, second = quality.copy(), quality["version"] == 2
    frame["experiment"] = frame["experiment"].fillna("").mask(second, "")
    together = second | (frame["experiment"] == GROUPED)
    frame["result"] = frame["run"].mask(together, frame["painting"])
    frame["origin"] = frame["painting"].map(origins).where(second).fillna("")
    rows = []
    for _, group in frame.groupby(RESULT, sort=False):
        for measure in MEASURE_LABELS:
            values = group[measure].dropna().to_numpy()
            of = mean_interval(values) if len(values) else Interval(*[np.nan] * 3)
            row = {**group.iloc[0][RESULT], "measure": measure, "images": len(values)}
            rows.append({**row, "value": of.estimate, "low": of.low, "high": of.high})
    return with_cells(pd.DataFrame(rows), unit="", scale=scale)


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Lay out the measures: Version 2 first, then Version 1 experiment by experiment."""
    frame = long.fillna({"experiment": "", "origin": ""})
    order = {name: place for place, name in enumerate(["", *EXPERIMENT_LABELS])}
    frame["order"] = frame["experiment"].map(order).fillna(len(order))
    rows = []
    for _, cells in frame.sort_values("order", kind="stable").groupby(RESULT, sort=False):
        first = cells.iloc[0]
        named = f"Version 1, {label(EXPERIMENT_LABELS, str(first['experiment']))}"
        if first["version"] == 2:
            named = f"Version 2, network {label(ORIGIN_LABELS, str(first['origin']))}"
        elif first["experiment"] != GROUPED:
            named += f" {str(first['result']).replace('_', ' ')}"
        line = [named, spoken(str(first["painting"])), number(cells["images"].max(), 0)]
        for measure in MEASURE_LABELS:
            cell = cells[cells["measure"] == measure].iloc[0]
            digits = 2 if measure in ("ssim_luma", "edge_correlation") else 3
            line.append(with_interval(cell["value"], cell["low"], cell["high"], digits))
        rows.append(line)
    columns = plain("Result", "Style", "Images", *MEASURE_LABELS.values())
    return Table("style_scores", title, caption, columns, rows, keys=2)


if __name__ == "__main__":
    with job(snakemake):
        inputs, params = snakemake.input, snakemake.params
        quality, stylised = read_frames(inputs.quality), read_frames(inputs.stylised_runs)
        long = numbers(quality, stylised, scale=params.scale)
        write_table(long, table(long, params.title, params.caption), snakemake.output)

"""Version 2: photographs in every style of this run, each in one pass.

Each painting, and below it what its network of Version 2 makes of a photograph in one pass; below
that the seconds that the pass took. The photographs take turns. A network of several styles paints
all of them with the same convolutions.
"""

import itertools
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import spoken, write_figure
from triptych.report.timings import duration
from triptych.style.report.panels import Panel, Shown, picture_figure, saying_missing
from triptych.style.report.runs import origin_name, stylised_long

STYLES_IN_A_ROW = 4


def numbers(stylised: pd.DataFrame, contents: Sequence[str], *, scale: str) -> pd.DataFrame:
    """Seconds of one photograph in each style, of rows of stylised/*/runs.csv; the photographs take
    turns."""
    turns = zip(stylised["painting"].unique(), itertools.cycle(contents), strict=False)
    return pd.concat(
        [
            stylised_long(stylised, content=content, painting=str(painting), scale=scale)
            for painting, content in turns
        ],
        ignore_index=True,
    )


@saying_missing
def figure(shown: Shown) -> Figure:
    """Each painting, and below it a photograph stylised towards it. shown: `numbers`, and results
    by `painting/content`."""
    above, below = [], []
    for row in shown.long.to_dict("records"):
        painting, content = row["painting"], row["content"]
        result = shown.picture("result", f"{painting}/{content}")
        above.append(Panel(shown.picture("painting", painting), spoken(painting), "painting"))
        note = f"{origin_name(row)}, {duration(row['value'])}"
        below.append(Panel(result, spoken(content), note))
    parts = [
        slice(first, first + STYLES_IN_A_ROW) for first in range(0, len(above), STYLES_IN_A_ROW)
    ]
    rows = [panels[part] for part in parts for panels in (above, below)]
    return picture_figure(rows, tallest=2.1)


if __name__ == "__main__":
    with job(snakemake):
        inputs, params = snakemake.input, snakemake.params
        long = numbers(read_frames(inputs.stylised_runs), params.contents, scale=params.scale)
        shown = Shown(long, result=inputs.stylised, painting=inputs.paintings)
        write_figure(figure(shown), long, snakemake.output)

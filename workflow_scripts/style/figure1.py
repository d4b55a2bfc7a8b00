"""Figure 1. Both versions of the same content and style.

The same content and style by Version 1 (optimised pixels) and Version 2 (one pass of a network),
with the seconds each took and the structure it kept (structural similarity of luminance to the
content; 1 is all of it).
"""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.timings import duration
from triptych.style.report.labels import MEASURE_LABELS
from triptych.style.report.panels import Panel, Shown, picture_figure, saying_missing
from triptych.style.report.runs import by_measure, of_pair, origin_name, results_long, with_measures


def numbers(
    runs: pd.DataFrame,
    stylised: pd.DataFrame,
    quality: pd.DataFrame,
    *,
    content: str,
    painting: str,
    scale: str,
) -> pd.DataFrame:
    """Seconds and quality of both versions for one content and painting.

    runs: of Version 1, experiment `paintings`. stylised: rows of stylised/*/runs.csv.
    Empty where either version has no image of this pair.
    """
    pair = {"content": content, "painting": painting}
    chosen, row = of_pair(runs, pair), of_pair(stylised, pair).head(1)
    if chosen.empty or row.empty:
        chosen, row = chosen.head(0), row.head(0)
    first = results_long(with_measures(chosen, quality), scale=scale)
    measures = quality[quality["version"] == 2].drop_duplicates([*pair])
    row = row.merge(measures[[*pair, *MEASURE_LABELS]], on=[*pair], how="left")
    second = by_measure(row, ["painting", "content", "origin", "width", "batches"], scale)
    first.insert(0, "version", 1)
    second.insert(0, "version", 2)
    return pd.concat([first, second], ignore_index=True)


@saying_missing
def figure(shown: Shown) -> Figure:
    """Both versions side by side. shown: results by `images/run` and `painting/content`."""
    values: Any = shown.long.pivot_table(index="version", columns="measure", values="value")
    first, second = shown.long.drop_duplicates("version").to_dict("records")
    panels = shown.sources(first)
    for version, title, name in (
        (1, "Version 1", f"images/{first['run']}"),
        (2, f"Version 2 ({origin_name(second)})", f"{first['painting']}/{first['content']}"),
    ):
        numbers = values.loc[version].dropna()
        note = duration(numbers["seconds"])
        if "ssim_luma" in numbers:
            note += f", structure kept {numbers['ssim_luma']:.2f}"
        panels.append(Panel(shown.picture("result", name), title, note))
    return picture_figure([panels])


if __name__ == "__main__":
    with job(snakemake):
        inputs = snakemake.input
        long = numbers(
            read_frames(inputs.runs),
            read_frames(inputs.stylised_runs),
            read_frames(inputs.quality),
            content=Path(inputs.content).stem,
            painting=Path(inputs.painting).stem,
            scale=snakemake.params.scale,
        )
        results = [inputs.images, inputs.stylised]
        shown = Shown(long, result=results, content=[inputs.content], painting=[inputs.painting])
        write_figure(figure(shown), long, snakemake.output)

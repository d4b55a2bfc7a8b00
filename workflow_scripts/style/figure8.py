"""Figure 8. Version 2: a large image and a detail.

A large photograph and the result of Version 2 at the same size, above the same detail of both; the
frame marks where. The detail is where the photograph has most contours.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import TIMES
from triptych.report.timings import duration
from triptych.style.data.image_files import luma
from triptych.style.report.panels import Panel, Picture, Shown, picture_figure, saying_missing
from triptych.style.report.runs import origin_name, stylised_long

DETAIL_SHARE = 6
"""An enlarged detail is a sixth of the image's width and height."""


@saying_missing
def figure(shown: Shown) -> Figure:
    """A large content image, the style and the result of Version 2, and a detail where the content
    image has most contours. shown.long: as `stylised_long` returns it."""
    (row,) = shown.long.to_dict("records")
    content, style = shown.sources(row)
    before, after = content.image, shown.picture("result", row["content"])
    mark = busiest_window(before)
    speed = f"{_size(after)} in {duration(row['value'])}"
    images = [
        replace(content, note=f"{content.note}, {_size(before)}", mark=mark),
        Panel(after, f"Version 2 ({origin_name(row)})", speed, mark),
        replace(style, note=f"{style.note}, {_size(style.image)}"),
    ]
    details = [
        Panel(_cut(before, mark), "Detail of the content"),
        Panel(_cut(after, mark), "Detail of the result"),
    ]
    return picture_figure([images, details], tallest=2.5)


def busiest_window(picture: Picture) -> tuple[int, int, int, int]:
    """Left, top, width and height of the window, a sixth of each side, with most contours."""
    light = luma(picture.transpose(2, 0, 1).astype(np.float32))
    down, across = light.shape
    width, height = max(across // DETAIL_SHARE, 1), max(down // DETAIL_SHARE, 1)
    contours = np.abs(np.diff(light, axis=0))[:, :-1] + np.abs(np.diff(light, axis=1))[:-1]
    places = [
        (left, top, width, height)
        for top in range(height // 2, max(down - height - height // 2, 1), max(height // 2, 1))
        for left in range(width // 2, max(across - width - width // 2, 1), max(width // 2, 1))
    ]
    return max(places, key=lambda mark: float(_cut(contours, mark).mean()))


def _cut(picture: Picture, mark: tuple[int, int, int, int]) -> Picture:
    left, top, width, height = mark
    return picture[top : top + height, left : left + width]


def _size(picture: Picture) -> str:
    return f"{picture.shape[1]} {TIMES} {picture.shape[0]}"


if __name__ == "__main__":
    with job(snakemake):
        inputs, result = snakemake.input, Path(snakemake.input.result)
        long = stylised_long(
            read_frames(inputs.stylised_runs),
            content=result.stem,
            painting=result.parent.name,
            scale=snakemake.params.scale,
        )
        shown = Shown(long, result=[result], content=[inputs.content], painting=[inputs.painting])
        write_figure(figure(shown), long, snakemake.output)

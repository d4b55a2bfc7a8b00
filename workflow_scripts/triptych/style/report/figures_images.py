"""Figures of images: 1, 3, 6, 7 and 8, every style, presets and initialisations."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from triptych.report.palette import label, spoken
from triptych.report.tables import TIMES
from triptych.report.timings import duration
from triptych.style.data.image_files import luma
from triptych.style.report.labels import (
    INITIALISATION_LABELS,
    OPTIMIZER_LOOKS,
    ORIGIN_LABELS,
    PRESET_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.panels import (
    Experiment,
    Panel,
    Picture,
    Shown,
    picture_figure,
    saying_missing,
)
from triptych.style.report.runs import Row, backbone_name, in_order, rates_name

STYLES_IN_A_ROW = 4

DETAIL_SHARE = 6
"""An enlarged detail is a sixth of the image's width and height."""


@saying_missing
def versions_figure(shown: Shown) -> Figure:
    """Figure 1: both versions of one content and style, side by side.

    Its numbers are those of `versions_long`, its results named by run, and by painting and content.
    """
    values: Any = shown.long.pivot_table(index="version", columns="measure", values="value")
    first, second = shown.long.drop_duplicates("version").to_dict("records")
    panels = shown.sources(first)
    for version, title, name in (
        (1, "Version 1", f"images/{first['run']}"),
        (2, f"Version 2 ({_origin(second)})", f"{first['painting']}/{first['content']}"),
    ):
        numbers = values.loc[version].dropna()
        note = duration(numbers["seconds"])
        if "ssim_luma" in numbers:
            note += f", structure kept {numbers['ssim_luma']:.2f}"
        panels.append(Panel(shown.files.picture("result", name), title, note))
    return picture_figure([panels])


@saying_missing
def styles_figure(shown: Shown) -> Figure:
    """Version 2 in every style: each painting, and below it a photograph stylised towards it.

    Its numbers are those of `styles_long`, its results named by painting and content.
    """
    above, below = [], []
    for row in shown.long.to_dict("records"):
        painting, content = row["painting"], row["content"]
        result = shown.files.picture("result", f"{painting}/{content}")
        above.append(Panel(shown.files.picture("painting", painting), spoken(painting), "painting"))
        note = f"{_origin(row)}, {duration(row['value'])}"
        below.append(Panel(result, spoken(content), note))
    parts = [
        slice(first, first + STYLES_IN_A_ROW) for first in range(0, len(above), STYLES_IN_A_ROW)
    ]
    rows = [panels[part] for part in parts for panels in (above, below)]
    return picture_figure(rows, tallest=2.1)


@saying_missing
def backbone_images_figure(shown: Experiment) -> Figure:
    """Figure 3: content, style and the result with each backbone."""
    return picture_figure([shown.row(shown.runs, title=backbone_name)])


@saying_missing
def optimizer_images_figure(shown: Experiment) -> Figure:
    """Figure 6: a row for the authors' and for tuned rates on each backbone: content, style and the
    result of each optimizer."""
    runs = in_order(shown.runs, "optimizer", OPTIMIZER_LOOKS)
    runs = in_order(runs, "rates", RATES_LABELS)
    rows = {
        rates_name(of_row.iloc[0].to_dict()): shown.row(
            of_row, title=lambda run: OPTIMIZER_LOOKS[run["optimizer"]].label
        )
        for _, of_row in runs.groupby(["architecture", "weights", "rates"], sort=False)
    }
    return picture_figure([*rows.values()], row_labels=[*rows], tallest=2.1)


@saying_missing
def initialisations_figure(shown: Experiment) -> Figure:
    """The result from each initialisation, with the structure of the content that it kept."""

    def note(run: Row) -> str:
        ssim = run["ssim_luma"]
        return "" if np.isnan(ssim) else f"structure kept (SSIM) {ssim:.2f}"

    panels = shown.row(
        in_order(shown.runs, "initialisation", INITIALISATION_LABELS),
        title=lambda run: f"From {INITIALISATION_LABELS[run['initialisation']]}",
        note=note,
    )
    return picture_figure([panels])


@saying_missing
def presets_figure(shown: Experiment) -> Figure:
    """The result of each preset."""

    def title(run: Row) -> str:
        # Runs of other experiments that are shown here have names of their own.
        return f"Preset {run['run']}" if run["run"] == run["preset"] else spoken(run["run"])

    return picture_figure([shown.row(in_order(shown.runs, "preset", PRESET_LOOKS), title)])


@saying_missing
def paintings_figure(shown: Experiment) -> Figure:
    """Figure 7: the content and the style images above the results of Version 1."""
    runs = shown.runs.drop_duplicates("painting")
    runs = runs[runs["content"] == runs["content"].iloc[0]]
    content, _, *results = shown.row(runs, title=lambda run: "Version 1")
    styles = [shown.sources(run)[1] for run in runs.to_dict("records")]
    return picture_figure([[content, *styles], [None, *results]], tallest=2.2)


@saying_missing
def high_resolution_figure(shown: Shown) -> Figure:
    """Figure 8: a large content image, the style and the result of Version 2, with a detail.

    Its number is that of `stylised_long`. The detail is where the content image has most contours.
    """
    (row,) = shown.long.to_dict("records")
    content, style = shown.sources(row)
    before, after = content.image, shown.files.picture("result", row["content"])
    mark = busiest_window(before)
    speed = f"{_size(after)} in {duration(row['value'])}"
    images = [
        replace(content, note=f"{content.note}, {_size(before)}", mark=mark),
        Panel(after, f"Version 2 ({_origin(row)})", speed, mark),
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


def _origin(row: Row) -> str:
    return label(ORIGIN_LABELS, row["origin"])


def _cut(picture: Picture, mark: tuple[int, int, int, int]) -> Picture:
    left, top, width, height = mark
    return picture[top : top + height, left : left + width]


def _size(picture: Picture) -> str:
    return f"{picture.shape[1]} {TIMES} {picture.shape[0]}"

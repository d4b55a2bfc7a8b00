"""Figures of images: 1, 3, 6, 7 and 8, every style, presets and initialisations."""

import itertools
from collections.abc import Iterable

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from triptych.report.palette import STYLE, label, spoken
from triptych.report.tables import TIMES
from triptych.report.timings import duration
from triptych.style.data.image_files import luma
from triptych.style.report.figures_losses import LOSS_LABEL, draw_loss
from triptych.style.report.labels import (
    INITIALISATION_LABELS,
    OPTIMIZER_LOOKS,
    ORIGIN_LABELS,
    PALETTE,
    PRESET_LOOKS,
    RATES_LABELS,
)
from triptych.style.report.panels import Files, Panel, Picture, picture_figure, saying_missing
from triptych.style.report.runs import backbone_name, measured

STYLES_IN_A_ROW = 4

DETAIL_SHARE = 6
"""An enlarged detail is a sixth of the image's width and height."""


@saying_missing
def versions_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 1: both versions of one content and style, side by side.

    long: as `versions_long` returns it. files: images by run, and by painting and content.
    """
    run, second = long.iloc[0], long[long["version"] == 2]
    origin = label(ORIGIN_LABELS, str(second["origin"].iloc[0]))
    panels = _sources(run, files)
    for cells, title, name in (
        (long[long["version"] == 1], "Version 1", f"images/{run['run']}"),
        (second, f"Version 2 ({origin})", f"{run['painting']}/{run['content']}"),
    ):
        note, structure = duration(measured(cells, "seconds")), measured(cells, "ssim_luma")
        if not np.isnan(structure):
            note += f", structure kept {structure:.2f}"
        panels.append(Panel(files.picture("result", name), title, note))
    return picture_figure([panels])[0]


@saying_missing
def styles_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Version 2 in every style: each painting, and below it a photograph stylised towards it.

    long: as `styles_long` returns it. files: images by painting and content.
    """
    above, below = [], []
    for _, row in long.iterrows():
        painting, content = str(row["painting"]), str(row["content"])
        result = files.picture("result", f"{painting}/{content}")
        picture = cropped(files.picture("painting", painting), result)
        above.append(Panel(picture, spoken(painting), "painting"))
        note = f"{label(ORIGIN_LABELS, str(row['origin']))}, {duration(float(row['value']))}"
        below.append(Panel(result, spoken(content), note))
    rows = []
    for first in range(0, len(above), STYLES_IN_A_ROW):
        part = slice(first, first + STYLES_IN_A_ROW)
        rows += [above[part], below[part]]
    return picture_figure(rows, tallest=2.1)[0]


def cropped(picture: Picture, like: Picture) -> Picture:
    """The middle of a picture, of another one's proportions."""
    height, width = picture.shape[:2]
    aspect = like.shape[1] / like.shape[0]
    high, wide = min(height, round(width / aspect)), min(width, round(height * aspect))
    return _cut(picture, ((width - wide) // 2, (height - high) // 2, wide, high))


@saying_missing
def backbone_images_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 3: content, style and the result with each backbone.

    long: as `results_long` returns it, for the experiment `backbones`.
    """
    runs = long.drop_duplicates("run")
    results = [
        _result(long, run, files, backbone_name(run["architecture"], run["weights"]))
        for _, run in runs.iterrows()
    ]
    return picture_figure([[*_sources(runs.iloc[0], files), *results]])[0]


@saying_missing
def optimizer_images_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 6: a row for the authors' and for tuned rates on each backbone: content, style and the
    result of each optimizer."""
    runs = _in_order(long.drop_duplicates("run"), "optimizer", OPTIMIZER_LOOKS)
    runs = _in_order(runs, "rates", RATES_LABELS)
    rows, labels = [], []
    for _, of_row in runs.groupby(["architecture", "weights", "rates"], sort=False):
        first = of_row.iloc[0]
        results = [
            _result(long, run, files, OPTIMIZER_LOOKS[run["optimizer"]].label)
            for _, run in of_row.iterrows()
        ]
        rows.append([*_sources(first, files), *results])
        name = backbone_name(first["architecture"], first["weights"])
        labels.append(f"{name}, {RATES_LABELS[first['rates']]}")
    return picture_figure(rows, row_labels=labels, tallest=2.1)[0]


@saying_missing
def initialisations_figure(long: pd.DataFrame, files: Files) -> Figure:
    """The result from each initialisation, with the structure of the content that it kept."""
    runs = _in_order(long.drop_duplicates("run"), "initialisation", INITIALISATION_LABELS)
    panels = _sources(runs.iloc[0], files)
    for _, run in runs.iterrows():
        ssim = measured(long, "ssim_luma", run=run["run"])
        note = "" if np.isnan(ssim) else f"structure kept (SSIM) {ssim:.2f}"
        title = f"From {INITIALISATION_LABELS[run['initialisation']]}"
        panels.append(_result(long, run, files, title, note))
    return picture_figure([panels])[0]


@saying_missing
def presets_figure(long: pd.DataFrame, history: pd.DataFrame, files: Files) -> Figure:
    """The result of each preset above its losses.

    long, history: as `results_long` and `history_long` return them for `presets`.
    """
    runs = _in_order(long.drop_duplicates("run"), "preset", PRESET_LOOKS)
    panels = _sources(runs.iloc[0], files)
    for _, run in runs.iterrows():
        # Runs of other experiments that are shown here have names of their own.
        of_preset = run["run"] == run["preset"]
        title = f"Preset {run['preset']}" if of_preset else spoken(str(run["run"]))
        panels.append(_result(long, run, files, title))
    figure, axes = picture_figure([panels], charts=2)
    with matplotlib.rc_context(STYLE):
        for chart, term in zip(axes, ("style", "content"), strict=True):
            for colour, name in zip(itertools.cycle(PALETTE), runs["run"], strict=False):
                line = history[(history["term"] == term) & (history["run"] == name)]
                draw_loss(chart, line, color=colour, label=name)
            chart.set_title(f"{term} loss".capitalize())
            chart.set_xlabel("evaluations")
            chart.set_ylabel(LOSS_LABEL)
        axes[0].legend(loc="upper right")
    return figure


@saying_missing
def paintings_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 7: the content and the style images above the results of Version 1."""
    runs = long.drop_duplicates("painting")
    runs = runs[runs["content"] == runs["content"].iloc[0]]
    top: list[Panel | None] = [_sources(runs.iloc[0], files)[0]]
    bottom: list[Panel | None] = [None]
    for _, run in runs.iterrows():
        top.append(_sources(run, files)[1])
        bottom.append(_result(long, run, files, "Version 1"))
    return picture_figure([top, bottom], tallest=2.2)[0]


@saying_missing
def high_resolution_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 8: a large content image, the style and the result of Version 2, with a detail.

    long: as `stylised_long` returns it. The detail is where the content image has most contours.
    """
    numbers = long.iloc[0]
    content, painting = str(numbers["content"]), str(numbers["painting"])
    before, style = files.picture("content", content), files.picture("painting", painting)
    after = files.picture("result", content)
    mark = busiest_window(before)
    origin = label(ORIGIN_LABELS, str(numbers["origin"]))
    speed = f"{_size(after)} in {duration(float(numbers['value']))}"
    images = [
        Panel(before, "Content", f"{spoken(content)}, {_size(before)}", mark),
        Panel(after, f"Version 2 ({origin})", speed, mark),
        Panel(style, "Style", f"{spoken(painting)}, {_size(style)}"),
    ]
    details = [
        Panel(_cut(before, mark), "Detail of the content"),
        Panel(_cut(after, mark), "Detail of the result"),
    ]
    return picture_figure([images, details], tallest=2.5)[0]


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


def _in_order(runs: pd.DataFrame, column: str, labels: Iterable[str]) -> pd.DataFrame:
    """The runs in the order that their labels have."""
    return runs.sort_values(column, key=lambda names: names.map(list(labels).index), kind="stable")


def _sources(run: pd.Series, files: Files) -> list[Panel]:
    """The content and the style image of a run."""
    content, painting = str(run["content"]), str(run["painting"])
    return [
        Panel(files.picture("content", content), "Content", spoken(content)),
        Panel(files.picture("painting", painting), "Style", spoken(painting)),
    ]


def _result(long: pd.DataFrame, run: pd.Series, files: Files, title: str, note: str = "") -> Panel:
    """A run's image; without a note with its final loss and seconds, or how it ended."""
    if not note and run["status"] != "finished":
        note = str(run["status"]).replace("_", " ") + ": last good state"
    if not note:
        loss = measured(long, "relative_loss_final", run=run["run"])
        seconds = duration(measured(long, "seconds", run=run["run"]))
        note = f"loss {loss:.2g} {'of' if loss <= 1 else 'times'} the first, {seconds}"
    return Panel(files.picture("result", str(run["run"])), title, note)


def _cut(picture: Picture, mark: tuple[int, int, int, int]) -> Picture:
    left, top, width, height = mark
    return picture[top : top + height, left : left + width]


def _size(picture: Picture) -> str:
    return f"{picture.shape[1]} {TIMES} {picture.shape[0]}"

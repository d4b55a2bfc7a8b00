"""Figures 1, 3, 6, 7 and 8 and the images of sizes, presets and initialisations."""

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

Row = list[Panel | None]

STYLES_IN_A_ROW = 4

DETAIL_SHARE = 6
"""An enlarged detail is a sixth of the image's width and height."""


@saying_missing
def versions_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 1: both versions of one content and style, side by side.

    long: as `versions_long` returns it. files: images by run, and by painting and content.
    """
    notes = {}
    for version, cells in long.groupby("version"):
        structure = measured(cells, "ssim_luma")
        structure_note = "" if np.isnan(structure) else f", structure kept {structure:.2f}"
        notes[version] = duration(measured(cells, "seconds")) + structure_note
    origin = label(ORIGIN_LABELS, str(long[long["version"] == 2]["origin"].iloc[0]))
    run = long.iloc[0]
    names = f"images/{run['run']}", f"{run['painting']}/{run['content']}"
    first, second = (files.picture("result", name) for name in names)
    results = [
        Panel(first, "Version 1", notes[1]),
        Panel(second, f"Version 2 ({origin})", notes[2]),
    ]
    return picture_figure([[*_sources(run, files), *results]])[0]


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
    results = [_result(long, run, files, _backbone(run)) for _, run in runs.iterrows()]
    return picture_figure([[*_sources(runs.iloc[0], files), *results]])[0]


@saying_missing
def optimizer_images_figure(long: pd.DataFrame, files: Files) -> Figure:
    """Figure 6: a row for the authors' and for tuned rates on each backbone, a column an optimizer;
    content and style at their left."""
    runs = long.drop_duplicates("run")
    sources = _sources(runs.iloc[0], files)
    rates = [name for name in RATES_LABELS if (runs["rates"] == name).any()]
    optimizers = [name for name in OPTIMIZER_LOOKS if (runs["optimizer"] == name).any()]
    several = runs["architecture"].nunique() > 1
    rows, labels = [], []
    for _, of_backbone in runs.groupby(["architecture", "weights"], sort=False):
        for number, name in enumerate(rates):
            row: Row = [sources[number]] if len(rates) == 2 else [*sources]
            of_row = of_backbone[of_backbone["rates"] == name].drop_duplicates("optimizer")
            by_optimizer = {str(run["optimizer"]): run for _, run in of_row.iterrows()}
            for optimizer in optimizers:
                panel = None
                if optimizer in by_optimizer:
                    title = OPTIMIZER_LOOKS[optimizer].label
                    panel = _result(long, by_optimizer[optimizer], files, title)
                row.append(panel)
            rows.append(row)
            rate = RATES_LABELS[name]
            labels.append(
                f"{_backbone(of_backbone.iloc[0])}, {rate}" if several else rate.capitalize()
            )
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
    top: Row = [_sources(runs.iloc[0], files)[0]]
    bottom: Row = [None]
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
    # The result has the content's size, unless a user asked for another.
    left, top, width, height = (round(edge * after.shape[1] / before.shape[1]) for edge in mark)
    mark_after = (left, top, width, height)
    origin = label(ORIGIN_LABELS, str(numbers["origin"]))
    speed = f"{_size(after)} in {duration(float(numbers['value']))}"
    rows: list[Row] = [
        [
            Panel(before, "Content", f"{spoken(content)}, {_size(before)}", mark),
            Panel(after, f"Version 2 ({origin})", speed, mark_after),
            Panel(style, "Style", f"{spoken(painting)}, {_size(style)}"),
        ],
    ]
    details = zip((before, after), (mark, mark_after), ("content", "result"), strict=True)
    rows.append([*(Panel(_cut(a, b), f"Detail of the {name}") for a, b, name in details), None])
    return picture_figure(rows, tallest=2.5)[0]


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


def _backbone(run: pd.Series) -> str:
    return backbone_name(str(run["architecture"]), str(run["weights"]))


def _cut(picture: Picture, mark: tuple[int, int, int, int]) -> Picture:
    left, top, width, height = mark
    return picture[top : top + height, left : left + width]


def _size(picture: Picture) -> str:
    return f"{picture.shape[1]} {TIMES} {picture.shape[0]}"

"""Rows of images in a figure: equal heights, short labels, thin frames, and charts below them.

Everything is placed in inches from the figure's upper left corner.
"""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from triptych.core.files import read_frames
from triptych.report.embedding import on_white
from triptych.report.palette import INK, MUTED, STYLE
from triptych.style.data.missing import missing_among
from triptych.style.report.runs import history_long, results_long

WIDTH = 9.0
PIXELS_AN_INCH = 200
GAP = 0.1
TITLE_HEIGHT = 0.23
NOTE_HEIGHT = 0.15
ROW_GAP = 0.14
MARGIN = 0.06
ROW_LABEL_WIDTH = 0.26

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class Panel:
    """One image of a figure, [H, W, 3], under its title and above its note.

    mark: left, top, width, height in pixels of a frame to be drawn on it.
    """

    image: Picture
    title: str
    note: str = ""
    mark: tuple[int, int, int, int] | None = None

    @property
    def aspect(self) -> float:
        """Its width over its height."""
        return self.image.shape[1] / self.image.shape[0]


def read_picture(path: str | Path) -> Picture:
    """An image file as 8-bit RGB, [H, W, 3]; what is transparent is shown on white."""
    with Image.open(path) as opened:
        return np.asarray(on_white(opened))


class Files:
    """PNG files by their kind, such as `content`, `painting` and `result`, and their name."""

    def __init__(self, **paths: Iterable[str | Path]) -> None:
        """paths: of each kind files, or folders of them. A file is `name`, and `folder/name`."""
        self._files: dict[str, dict[str, Path]] = {kind: {} for kind in paths}
        for kind, files in paths.items():
            for path in map(Path, files):
                for file in sorted(path.glob("*.png")) if path.is_dir() else [path]:
                    named = dict.fromkeys((file.stem, f"{file.parent.name}/{file.stem}"), file)
                    self._files[kind].update(named)

    @property
    def missing(self) -> dict[str, str]:
        """Reasons of pictures that could not be had, by name."""
        return missing_among(path for files in self._files.values() for path in files.values())

    def picture(self, kind: str, name: str) -> Picture:
        """The image of that name, [H, W, 3]. Raises ValueError for a name that isn't there."""
        files = self._files[kind]
        if name not in files:
            known = sorted(
                known_name for known_name in files if ("/" in known_name) == ("/" in name)
            )
            raise ValueError(f"no {kind} named {name!r}; there are: {', '.join(known)}")
        return read_picture(files[name])


@dataclass(frozen=True)
class Experiment:
    """Numbers and pictures of an experiment, and of those that are shown with it."""

    results: pd.DataFrame
    history: pd.DataFrame
    files: Files

    @classmethod
    def read(cls, inputs: Any, scale: str, quality: pd.DataFrame | None = None) -> "Experiment":
        """Read a rule's inputs `runs`, `history`, `images`, `contents` and `paintings`."""
        runs, history = read_frames(inputs.runs), read_frames(inputs.history)
        return cls(
            results=results_long(runs, quality, scale=scale),
            history=history_long(history, runs, scale=scale),
            files=Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings),
        )


def saying_missing(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorate a figure of a frame and others and, last, Files: it names the missing pictures.

    Where these leave no row of the frame, it shows nothing else. Raises ValueError for an empty
    frame of which no picture is missing.
    """

    @wraps(draw)
    def drawn(*arguments: Any) -> Figure:
        long, missing = arguments[0], arguments[-1].missing
        if not missing:
            return draw(*arguments)
        lines = (f"Missing: {name}. {reason}" for name, reason in missing.items())
        text = "\n".join(textwrap.fill(line, 130) for line in lines)
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(WIDTH, 0.6)) if long.empty else draw(*arguments)
            figure.text(0.01, 0, text, fontsize=7, color=MUTED, va="top")
        return figure

    return drawn


def picture_figure(
    rows: Sequence[Sequence[Panel | None]],
    *,
    row_labels: Sequence[str] = (),
    tallest: float = 2.6,
    charts: int = 0,
    chart_height: float = 1.9,
) -> tuple[Figure, list[Axes]]:
    """Panels in rows of one height, as wide as the page, with `charts` axes side by side below.

    rows: lists of panels; None leaves a place empty. tallest: the greatest height of an image
    in inches. row_labels: one for each row, written upwards at its left. Returns the figure
    and the axes of the charts.
    """
    columns = max(len(row) for row in rows)
    aspects = [
        max((panel.aspect for row in rows for panel in row[j : j + 1] if panel), default=1.0)
        for j in range(columns)
    ]
    left = ROW_LABEL_WIDTH if row_labels else MARGIN
    room = WIDTH - left - MARGIN - GAP * (columns - 1)
    height = min(tallest, room / sum(aspects))
    # What is narrower than the page stands in its middle.
    left += (room - height * sum(aspects)) / 2
    notes = any(panel.note for row in rows for panel in row if panel)
    row_height = TITLE_HEIGHT + height + (NOTE_HEIGHT if notes else 0) + ROW_GAP
    below = chart_height + 0.85 if charts else 0
    total = row_height * len(rows) + below
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, total))
        for i, row in enumerate(rows):
            top = i * row_height
            if row_labels:
                _write(figure, left - 0.1, top + TITLE_HEIGHT + height / 2, row_labels[i], True)
            across = left
            for j, panel in enumerate(row):
                if panel:
                    _draw(figure, panel, across, top, height)
                across += aspects[j] * height + GAP
        axes = _charts(figure, row_height * len(rows) + 0.35, charts, chart_height)
    return figure, axes


def inch_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the figure's upper left corner."""
    across, down = figure.get_size_inches()
    return figure.add_axes(
        (left / across, 1 - (top + height) / down, width / across, height / down)
    )


def _charts(figure: Figure, top: float, count: int, height: float) -> list[Axes]:
    if not count:
        return []
    gap, left, right = 0.75, 0.7, 0.15
    width = (WIDTH - left - right - gap * (count - 1)) / count
    return [inch_axes(figure, left + i * (width + gap), top, width, height) for i in range(count)]


def _draw(figure: Figure, panel: Panel, left: float, top: float, height: float) -> None:
    width = panel.aspect * height
    axes = inch_axes(figure, left, top + TITLE_HEIGHT, width, height)
    picture, (down, across, _) = panel.image, panel.image.shape
    pixels = round(height * PIXELS_AN_INCH)
    if down > pixels:
        size = max(round(across * pixels / down), 1), pixels
        picture = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    axes.imshow(picture, aspect="auto", interpolation="antialiased", extent=(0, across, down, 0))
    axes.grid(False)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5)
    if panel.mark:
        x, y, w, h = panel.mark
        for colour, thick in (("white", 2.0), (INK, 0.8)):
            axes.add_patch(Rectangle((x, y), w, h, fill=False, edgecolor=colour, linewidth=thick))
    _write(figure, left, top + TITLE_HEIGHT - 0.06, panel.title)
    if panel.note:
        base = top + TITLE_HEIGHT + height + NOTE_HEIGHT - 0.01
        _write(figure, left, base, panel.note, note=True)


def _write(
    figure: Figure, left: float, base: float, text: str, upwards: bool = False, note: bool = False
) -> None:
    """Text whose base line (or, upwards, whose middle) lies at a place in inches."""
    across, down = figure.get_size_inches()
    figure.text(
        left / across,
        1 - base / down,
        text,
        fontsize=7 if note else 8,
        color=MUTED if note else INK,
        fontweight="normal" if note else "bold",
        rotation=90 if upwards else 0,
        ha="right" if upwards else "left",
        va="center" if upwards else "baseline",
    )

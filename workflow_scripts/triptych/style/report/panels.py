"""Rows of images in a figure: equal heights, short labels, thin frames, and charts below them.

Everything is placed in inches from the figure's upper left corner, since matplotlib's own
layouts leave gaps of their liking around images.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from triptych.report.palette import INK, MUTED, STYLE

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
    """An image file as 8-bit RGB, [H, W, 3]; what is transparent is shown on white.

    Raises ValueError naming a file that is no image.
    """
    try:
        with Image.open(path) as opened:
            picture = opened.convert("RGBA")
    except OSError as error:
        raise ValueError(f"{path}: an image expected, for a figure; {error}") from error
    white = Image.new("RGBA", picture.size, "white")
    return np.asarray(Image.alpha_composite(white, picture).convert("RGB"))


def files_by_stem(paths: str | Path | Iterable[str | Path]) -> dict[str, Path]:
    """PNG files by their name without suffix: of a list of files, or of one folder."""
    if isinstance(paths, str | Path):
        paths = [paths]
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        files = sorted(path.glob("*.png")) if path.is_dir() else [path]
        found.update((file.stem, file) for file in files)
    return found


def stylised_by_pair(paths: Iterable[str | Path]) -> dict[tuple[str, str], Path]:
    """Stylised images {painting}/{content}.png by (painting, content)."""
    return {(path.parent.name, path.stem): path for path in map(Path, paths)}


def chosen_file(files: Mapping[str, Path], name: str, kind: str) -> Path:
    """The file of that name, or a ValueError that lists those at hand."""
    if name not in files:
        raise ValueError(f"no {kind} named {name!r}; there are: {', '.join(sorted(files))}")
    return files[name]


def shrunk(picture: Picture, height: int) -> Picture:
    """The picture no higher than asked, smoothed; never enlarged."""
    if picture.shape[0] <= height:
        return picture
    width = max(round(picture.shape[1] * height / picture.shape[0]), 1)
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(image)


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
    and the axes of the charts. Raises ValueError where there is no panel.
    """
    if not any(panel for row in rows for panel in row):
        raise ValueError("a figure of images needs at least one image, got none")
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
    pixels = round(height * PIXELS_AN_INCH)
    axes.imshow(
        shrunk(panel.image, pixels),
        aspect="auto",
        interpolation="antialiased",
        extent=(0, panel.image.shape[1], panel.image.shape[0], 0),
    )
    axes.grid(False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_linewidth(0.5)
    if panel.mark:
        x, y, w, h = panel.mark
        for colour, thick in (("white", 2.0), (INK, 0.8)):
            axes.add_patch(Rectangle((x, y), w, h, fill=False, edgecolor=colour, linewidth=thick))
    _write(figure, left, top + TITLE_HEIGHT - 0.06, panel.title)
    if panel.note:
        _write(
            figure, left, top + TITLE_HEIGHT + height + NOTE_HEIGHT - 0.01, panel.note, note=True
        )


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

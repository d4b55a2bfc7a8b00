"""Rows of images in a figure, equally high, each under its title and above its note."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from triptych.core.files import read_frames
from triptych.report.embedding import on_white
from triptych.report.palette import INK, MUTED, spoken, styled
from triptych.report.timings import duration
from triptych.style.data.missing import missing_among
from triptych.style.report.runs import Row, history_long, results_long, with_measures

WIDTH = 9.0
TEXT_HEIGHT = 0.45
"""Inches of a page, and of a row's titles and notes."""
PIXELS_AN_INCH = 200

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


class Shown:
    """Numbers of a figure in the long form of its CSV, and the PNG files that it may show, by their
    kind, such as `content`, `painting` and `result`, and their name."""

    def __init__(self, long: pd.DataFrame, **paths: Iterable[str | Path]) -> None:
        """paths: of each kind files, or folders of them. A file is `name`, and `folder/name`."""
        self.long = long
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
            raise ValueError(f"no {kind} named {name!r}; there are: {', '.join(sorted(files))}")
        return read_picture(files[name])

    def sources(self, run: Row) -> list[Panel]:
        """The content and the style image of a run."""
        return [
            Panel(self.picture(kind, run[kind]), title, spoken(run[kind]))
            for kind, title in (("content", "Content"), ("painting", "Style"))
        ]


class Experiment(Shown):
    """The runs of an experiment, and of those that are shown with it."""

    def __init__(
        self, runs: pd.DataFrame, history: pd.DataFrame, scale: str, **paths: Iterable[str | Path]
    ) -> None:
        """runs, history: rows of runs.csv and history.csv."""
        super().__init__(results_long(runs, scale=scale), **paths)
        self.runs = runs
        self.history = history_long(history, runs, scale=scale)

    @classmethod
    def read(cls, inputs: Any, scale: str) -> "Experiment":
        """Read a rule's inputs `runs`, `history`, `images`, `contents`, `paintings`, and `quality`
        if it has it."""
        runs = read_frames(inputs.runs)
        if quality := inputs.get("quality"):
            runs = with_measures(runs, read_frames(quality))
        paths = {"content": inputs.contents, "painting": inputs.paintings}
        return cls(runs, read_frames(inputs.history), scale, result=inputs.images, **paths)

    def row(
        self,
        runs: pd.DataFrame,
        title: Callable[[Row], str],
        note: Callable[[Row], str] = lambda run: "",
    ) -> list[Panel]:
        """The images that the first run is made from, and the result of each, under its title and
        above its note (if empty: its final loss and seconds, or how it ended)."""
        rows = runs.to_dict("records")
        results = [self.picture("result", str(run["run"])) for run in rows]
        return self.sources(rows[0]) + [
            Panel(result, title(run), note(run) or ended(run))
            for result, run in zip(results, rows, strict=True)
        ]


def ended(run: Row) -> str:
    """A run's final loss and seconds, or how it ended otherwise."""
    if run["status"] != "finished":
        return f"{run['status'].replace('_', ' ')}: last good state"
    loss, seconds = run["relative_loss_final"], duration(run["seconds"])
    return f"loss {loss:.2g} {'of' if loss <= 1 else 'times'} the first,\n{seconds}"


def saying_missing(draw: Callable[[Any], Figure]) -> Callable[[Any], Figure]:
    """Decorate a figure of what is Shown: it names the missing pictures.

    Where these leave no numbers, it shows nothing else. Raises ValueError for no numbers although
    no picture is missing.
    """

    @wraps(draw)
    @styled
    def drawn(shown: Shown) -> Figure:
        missing = shown.missing
        if not missing:
            return draw(shown)
        lines = (f"Missing: {name}. {reason}" for name, reason in missing.items())
        text = "\n".join(textwrap.fill(line, 130) for line in lines)
        empty = Figure(figsize=(WIDTH, 0.6), layout="constrained")
        figure = empty if shown.long.empty else draw(shown)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color=MUTED)
        return figure

    return drawn


@styled
def picture_figure(
    rows: Sequence[Sequence[Panel | None]],
    *,
    row_labels: Sequence[str] = (),
    tallest: float = 2.6,
) -> Figure:
    """Panels in rows of one height, as wide as the page.

    rows: lists of panels; None leaves a place empty. tallest: the greatest height of an image
    in inches. row_labels: one for each row, written upwards at its left.
    """
    columns = list(zip_longest(*rows))
    aspects = [max((panel.aspect for panel in column if panel), default=1.0) for column in columns]
    height = min(tallest, WIDTH / sum(aspects))
    total = len(rows) * (height + TEXT_HEIGHT)
    figure = Figure(figsize=(WIDTH, total), layout="constrained")
    places = figure.subplots(len(rows), len(columns), squeeze=False, width_ratios=aspects)
    for axes, panels, aspect in zip(places.T, columns, aspects, strict=True):
        for place, panel in zip(axes, panels, strict=True):
            draw_panel(place, panel, height, aspect)
    for place, text in zip(places[:, 0], row_labels, strict=False):
        place.set_ylabel(text, fontsize=8, color=INK, fontweight="bold")
    return figure


def draw_panel(axes: Axes, panel: Panel | None, height: float, aspect: float) -> None:
    """Show a panel, or nothing, at the left of axes of so many inches and its column's aspect: rows
    of equal axes have images of one height."""
    axes.set_box_aspect(1 / aspect)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if panel is None:
        return
    picture, (down, across, _) = panel.image, panel.image.shape
    pixels = round(height * PIXELS_AN_INCH)
    if down > pixels:
        size = max(round(across * pixels / down), 1), pixels
        picture = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    axes.imshow(picture, aspect="auto", interpolation="antialiased", extent=(0, across, down, 0))
    axes.set_xlim(0, down * aspect)
    if panel.mark:
        left, top, wide, high = panel.mark
        for colour, thick in (("white", 2.0), (INK, 0.8)):
            axes.add_patch(
                Rectangle((left, top), wide, high, fill=False, edgecolor=colour, linewidth=thick)
            )
    axes.set_title(panel.title, fontsize=8, pad=3)
    axes.set_xlabel(panel.note, fontsize=7, color=MUTED, loc="left", labelpad=2)

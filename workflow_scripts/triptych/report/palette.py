"""Look and files of figures: one palette, one set of sizes, stable bytes."""

import base64
import io
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from triptych.core.files import atomic_path, write_csv
from triptych.report.embedding import data_address, on_white

INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e4e8ec"

STYLE: Any = {  # matplotlib types its keys as one literal of 300 names
    "font.family": "DejaVu Sans",  # shipped with matplotlib: the same bytes on every machine
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": "#b8c0c8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.8,
    "ytick.labelsize": 7.8,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "triptych",  # element ids would be random otherwise
    "svg.fonttype": "path",
    "figure.dpi": 100,
}
styled = matplotlib.rc_context(STYLE)
"""Decorator of a function that draws: its texts, lines and axes look as STYLE says."""

# Dates and library versions in the files would change their bytes from run to run.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def label(labels: dict[str, str], key: str) -> str:
    """The name a reader knows, or the key itself for one that the tables above lack."""
    return labels.get(key, key)


def spoken(name: str) -> str:
    """The name of a painting or a photograph as a reader writes it: `great_wave`, Great wave."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def in_lines(name: str, letters: int = 26) -> str:
    """A name on lines of so many letters at most, broken where words or underscores end. As many as
    by default are, in a title, as wide as a panel."""
    return textwrap.fill(name.replace("_", "_ "), letters).replace("_ ", "_")


@styled
def save_figure(figure: Figure, base: str | Path) -> None:
    """Write `base`.svg, .pdf and .png (200 dpi), whole or not at all, with stable bytes.

    The SVG holds photographs as JPEG, and tall figures of photographs have fewer dots an inch: no
    file shall be larger than about 1.5 MB.
    """
    area = float(np.prod(figure.get_size_inches()))
    images = [image.get_array() for axes in figure.axes for image in axes.images]
    photographs = any(image is not None and image.ndim == 3 for image in images)
    for suffix, metadata in _METADATA.items():
        # Not with_suffix: a base may carry a dot of its own.
        target = Path(f"{base}.{suffix}")
        most = _PIXELS["jpeg" if suffix == "svg" else "lossless"]
        dpi = min(200.0, np.sqrt(most / area)) if photographs else 200.0
        with atomic_path(target) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata, dpi=dpi)
            if photographs and suffix == "svg":
                text = temporary.read_text(encoding="utf-8")
                temporary.write_text(_PNG_DATA.sub(_as_jpeg, text), encoding="utf-8")


def write_figure(figure: Figure, long: pd.DataFrame, files: Sequence[str]) -> None:
    """Write a figure as `save_figure` does, and the numbers that it draws. files: svg, pdf, png and
    csv, in this order."""
    save_figure(figure, Path(files[0]).with_suffix(""))
    write_csv(long, files[3])


_PIXELS = {"jpeg": 1_700_000, "lossless": 700_000}
"""Most pixels of a figure of photographs, at about 0.5 (with base64) and 2 bytes each."""

_PNG_DATA = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")


def _as_jpeg(match: re.Match[str]) -> str:
    """A PNG of an SVG's data address as a JPEG, on white where it is transparent."""
    stream = io.BytesIO()
    flat = on_white(Image.open(io.BytesIO(base64.b64decode(match[1]))))
    flat.save(stream, "JPEG", quality=85, subsampling=0)
    return data_address(stream.getvalue(), "image/jpeg")


def count_axis(axes: Axes, most: int = 5) -> None:
    """The horizontal axis counts epochs, updates or the like: at most `most` whole steps."""
    axes.xaxis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")


def legend_below(figure: Figure, axes: list[Axes], columns: int) -> None:
    """Draw one legend for all panels under them, each name once, in order of appearance.

    columns: at most so many, fewer where the legend would be wider than the figure, which then
    grows by the lines more.
    """
    entries: dict[str, Any] = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    heights = []
    for ncols in range(min(columns, max(len(entries), 1)), 0, -1):
        legend = figure.legend(
            list(entries.values()), list(entries), loc="outside lower center", ncols=ncols
        )
        box = legend.get_window_extent()
        heights.append(box.height / figure.dpi)
        if ncols == 1 or box.width <= figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + heights[-1] - heights[0])

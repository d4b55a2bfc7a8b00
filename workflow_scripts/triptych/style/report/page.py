"""The style study's part of the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from triptych.report.page import PageFigure, PageVideo, Section
from triptych.report.palette import label, spoken
from triptych.style.report.labels import VARIANT_LABELS
from triptych.style.report.tables import table1_table
from triptych.style.report.tables_beyond import (
    breakeven_table,
    networks_table,
    properties_table,
    quality_table,
)
from triptych.style.report.tables_times import targets_table

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
    "style_checkpoints": "Beyond the paper: one photograph through all checkpoints.",
    "style_motion": "Beyond the paper: frames, flicker and speed.",
}

VERSIONS = (
    "Version 1 (after Gatys et al.) optimises the pixels of one image. Version 2 (after Johnson et "
    "al.) trains a network once for each style and then needs a single pass. Table I compares a "
    "long optimisation with that single pass; the table below it adds what the network's training "
    "cost."
)
BACKBONES = (
    "Losses of different backbones have different units, so each is shown relative to its own "
    "first value."
)
LOSSES = (
    "Only the content loss changes, as in the authors' code. The paper prints one run each on an "
    "axis that starts near 37 s; here runs are repeated in turn, the axis starts at zero, and the "
    "differences have intervals, so that *no difference* is a possible outcome. Smooth L1 and "
    "Huber are the same function at their default thresholds, so their losses must coincide."
)
OPTIMIZERS = (
    "The authors ran Adam and SGD at default learning rates; in their records a pixel hardly moves "
    "with Adam, and SGD overshoots. Shown are the authors' rates, which decide the claims, and "
    "tuned ones."
)
PRESETS = (
    "The paper's text and its authors' notebook differ in content layer, pooling, normalisation "
    "and weights. Both are presets, beside a tuned one; the losses of presets are different "
    "functions, so compare images first."
)
GALLERY = "All images lie in full size under `results/style`."
TRAINING = (
    "**Shipped and trained are never the same network.** Shipped ones come with the repository; "
    "those *trained in this run* start from chance or, where the configuration says so, as a short "
    "run needs, from the mean of a shipped one's styles. A checkpoint is picked by its loss on "
    "held-out images."
)
VIDEO = (
    "Frames are stylised in batches and written with the source's frame times and sound. Flicker: "
    "each frame is warped onto the next by the source's optical flow, and the error that remains, "
    "outside occlusions, is divided by the source's own. The temporal term is an option of "
    "training that the paper lacks."
)
QUALITY = (
    "The paper judges by eye. These measures need no download and hold for every result; none of "
    "them alone is quality."
)
EMBEDDED = (
    "**Where the weights are called embedded**, the backbone is a narrow one that this project "
    "trained on bundled photographs, since ImageNet weights cannot be downloaded offline. Its "
    "results show the method, not the paper's numbers."
)


def style_sections(
    *,
    figures: Mapping[str, PageFigure],
    table1: pd.DataFrame,
    breakeven: pd.DataFrame,
    targets: pd.DataFrame,
    scores: pd.DataFrame,
    stylised: pd.DataFrame,
    parity: pd.DataFrame,
    properties: pd.DataFrame,
    videos: Sequence[str | Path],
) -> list[Section]:
    """The study's sections.

    figures: by name, as TITLES has them. table1, breakeven, targets, scores: the long tables of
    results/tables. stylised, parity: rows of stylised/*/runs.csv and parity.csv. properties: by
    `read_variants`. videos: finished files in folders {painting}/{variant}.
    """

    def shown(*names: str) -> list[PageFigure]:
        return [figures[f"style_{name}"] for name in names]

    embedded = table1["architecture"].astype(str).str.startswith("narrow").any()
    return [
        Section(
            "versions",
            "Both versions",
            f"{VERSIONS}\n\n{EMBEDDED}" if embedded else VERSIONS,
            shown("styles", "figure1"),
            [table1_table(table1), breakeven_table(breakeven)],
        ),
        Section("backbones", "Backbones", BACKBONES, shown("figure2", "figure3")),
        Section("losses", "Loss functions", LOSSES, shown("figure4")),
        Section(
            "optimizers",
            "Optimizers",
            OPTIMIZERS,
            shown("figure5", "figure6"),
            [targets_table(targets)],
        ),
        Section("choices", "Text, code and starts", PRESETS, shown("presets", "initialisations")),
        Section("gallery", "Results", GALLERY, shown("figure7", "sizes", "figure8")),
        Section(
            "networks",
            "Networks and their training",
            TRAINING,
            shown("training", "checkpoints"),
            [networks_table(stylised, parity)],
        ),
        Section(
            "video",
            "Video",
            VIDEO,
            shown("motion"),
            [properties_table(properties)],
            [page_video(path) for path in videos],
        ),
        Section("quality", "Quality", QUALITY, [], [quality_table(scores)]),
    ]


def page_video(path: str | Path) -> PageVideo:
    """A finished video, named by the folders {painting}/{variant} that it lies in."""
    folder = Path(path).parent
    painting, variant = spoken(folder.parent.name), label(VARIANT_LABELS, folder.name)
    return PageVideo.read(
        path,
        name=f"video_{folder.parent.name}_{folder.name}",
        title=f"The video: {painting}, {variant}.",
        caption="H.264 with the source's sound.",
    )

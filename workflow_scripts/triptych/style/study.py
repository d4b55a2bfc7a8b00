"""The style study, as claims and page ask for it (`triptych.studies.Study`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.scoreboard import Headline
from triptych.report.verdicts import Verdict
from triptych.style.report import claims_images, claims_losses, claims_speed
from triptych.style.report import headlines as numbers
from triptych.style.report.claims import CRITERIA
from triptych.style.report.page import TITLES, style_sections
from triptych.style.report.tables_beyond import read_variants

__all__ = [
    "CRITERIA",
    "PAPER",
    "TITLE",
    "TITLES",
    "headlines",
    "sections",
    "verdicts",
    "verdicts_on",
]

TITLE = "Style transfer of images and videos"
PAPER = "*Style Transfer of Images and Videos* (Shen and Wang, 2022)"
BY_VARIANT = ("speed", "properties")
"""Files whose folders say the painting and the variant of the network."""


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/style_claims.csv."""
    return verdicts_on(_read(files), settings)


def verdicts_on(frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The same, from the frames that those files hold."""
    runs, history, quality = frames["runs"], frames["history"], frames["quality"]
    timing, architectures = frames["timing"], settings["architectures"]
    photographs = settings["photographs"]
    stylised = frames["stylised_runs"]
    timed = stylised[stylised["painting"] == settings["timed"]]
    return [
        claims_speed.network_is_faster(timing, architectures, timed),
        claims_speed.large_images_take_seconds(stylised),
        claims_speed.alexnet_is_faster(timing, architectures),
        claims_losses.backbones_share_a_trend(runs, history),
        claims_speed.loss_functions_differ_in_time(frames["loss_timing"], runs, history),
        claims_losses.lbfgs_ends_lowest(runs),
        claims_losses.sgd_fails(runs, history, quality),
        claims_losses.content_start_keeps_structure(runs, quality),
        claims_speed.videos_are_batched_and_kept(frames["speed"], frames["properties"]),
        claims_images.versions_differ(runs, stylised, quality, architectures, photographs),
        claims_images.adam_keeps_content(runs, quality),
        claims_images.alexnet_fails_when_scaled(runs, history),
        claims_images.videos_stay_consistent(frames["flicker"], stylised, photographs),
    ]


def headlines(files: Files, settings: Mapping[str, Any]) -> list[Headline]:
    """Its published numbers, from Table I."""
    return numbers.headlines(read_frames(files["table1"]))


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = _read({name: paths for name, paths in files.items() if name != "videos"})
    return style_sections(**frames, videos=files["videos"], figures=figures)


def _read(files: Files) -> dict[str, pd.DataFrame]:
    return {
        name: read_variants(paths) if name in BY_VARIANT else read_frames(paths)
        for name, paths in files.items()
    }

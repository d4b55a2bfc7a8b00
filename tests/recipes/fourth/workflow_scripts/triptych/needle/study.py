"""The study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from triptych.needle.report import CLAIMS, PARTS

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.page import sections as sections_of
from triptych.report.summary import Summary

__all__ = ["CLAIMS", "PAPER", "PARTS", "TITLE", "glance", "read_tables", "sections", "tables_of"]

TITLE = "Pi by throwing needles"
PAPER = "*Essai d'arithmétique morale* (Buffon, 1777)"


def read_tables(files: Files) -> dict[str, pd.DataFrame]:
    """The files of `Workflow.claims`."""
    return {name: read_frames(paths) for name, paths in files.items()}


def tables_of(frames: Mapping[str, pd.DataFrame], plan: Any, became: Any) -> pd.DataFrame:
    """What the claim compares: the throws."""
    return frames["throws"]


def glance(files: Files, settings: Mapping[str, Any]) -> Summary | None:
    """The first screen: a sentence and a number; None without the table."""
    if not files["table1"]:
        return None
    pi = read_frames(files["table1"])["value"].mean()
    return Summary("Needles were thrown on a ruled floor.", [(f"{pi:.3f}", "estimate of pi")])


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = {name: read_frames(paths) for name, paths in files.items() if paths}
    return sections_of(PARTS, figures, frames)

"""The study, as claims and page ask for it (`triptych.studies.Study`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from triptych.needle import report
from triptych.needle.report import CRITERIA, TITLES

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.scoreboard import Headline
from triptych.report.verdicts import Verdict

__all__ = ["CRITERIA", "PAPER", "TITLE", "TITLES", "headlines", "sections", "verdicts"]

TITLE = "Pi by throwing needles"
PAPER = "*Essai d'arithmétique morale* (Buffon, 1777)"


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdict on its one claim."""
    return [report.found(read_frames(files["throws"]))]


def headlines(files: Files, settings: Mapping[str, Any]) -> list[Headline]:
    """Its one number is its claim's."""
    pi = read_frames(files["table1"])["value"].mean()
    return [Headline("", "", np.pi, pi, "", 3, claim="needle-pi")]


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    shown = report.table(read_frames(files["table1"]))
    return [Section("needle-pi-section", "Pi", "Needles.", list(figures.values()), [shown])]

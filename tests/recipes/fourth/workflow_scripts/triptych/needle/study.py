"""The study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

from triptych.needle.report import CLAIMS, PARTS

from triptych.core.files import read_frames
from triptych.report.claims import Unmet, Verdict, judge, predict
from triptych.report.files import Files
from triptych.report.glance import Glance
from triptych.report.page import PageFigure, Section
from triptych.report.page import sections as sections_of

__all__ = ["CLAIMS", "PAPER", "PARTS", "TITLE", "glance", "predictions", "sections", "verdicts"]

TITLE = "Pi by throwing needles"
PAPER = "*Essai d'arithmétique morale* (Buffon, 1777)"


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """The verdict on its one claim."""
    throws = read_frames(files["throws"])
    return judge(CLAIMS, {"seeds": throws["seed"].nunique()}, throws)


def predictions(workflow: Any, on_gpu: bool) -> dict[str, Unmet]:
    """What a run of a config, given by its Workflow, will lack to test the claim."""
    return predict(CLAIMS, {"seeds": len(workflow.config["seeds"])})


def glance(files: Files, settings: Mapping[str, Any]) -> Glance | None:
    """The first screen: a sentence and a number; None without the table."""
    if not files["table1"]:
        return None
    pi = read_frames(files["table1"])["value"].mean()
    return Glance("Needles were thrown on a ruled floor.", [(f"{pi:.3f}", "estimate of pi")])


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = {name: read_frames(paths) for name, paths in files.items() if paths}
    return sections_of(PARTS, figures, frames)

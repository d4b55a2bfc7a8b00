"""The style study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

from triptych.core.files import read_frames
from triptych.report.claims import Unmet, Verdict, judge, predict
from triptych.report.files import Files
from triptych.report.glance import Glance
from triptych.report.page import PageFigure, Section
from triptych.style.data.missing import missing_among
from triptych.style.report import page
from triptych.style.report.claims import CLAIMS
from triptych.style.report.claims_facts import planned_facts, read_run
from triptych.style.report.page import style_sections

TITLES, KEYS = page.TITLES, page.KEYS
TITLE = "Style transfer of images and videos"
PAPER = "*Style Transfer of Images and Videos* (Shen and Wang, 2022)"


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/style_claims.csv."""
    run, facts = read_run({name: read_frames(paths) for name, paths in files.items()}, settings)
    return judge(CLAIMS, facts, run)


def predictions(workflow: Any, on_gpu: bool) -> dict[str, Unmet]:
    """The unmet needs of each claim for a run that has not begun. workflow: of its config."""
    return predict(CLAIMS, planned_facts(workflow, on_gpu))


def glance(files: Files, settings: Mapping[str, Any]) -> Glance:
    """The study's part of the first screen."""
    frames = {name: read_frames(files[name]) for name in ("table1", "stylised")}
    return page.glance(**frames, painted=files["painted"])


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = {name: read_frames(files[name]) for name in ("table1", "scores")}
    missing = missing_among(files["pictures"])
    return style_sections(frames, files["videos"], figures, settings["weights"], missing)

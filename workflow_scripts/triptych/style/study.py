"""The style study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

from triptych.core.files import read_frames
from triptych.report.claims import Unmet, Verdict, judge, predict
from triptych.report.files import Files
from triptych.style.report.claims import CLAIMS
from triptych.style.report.claims_facts import planned_facts, read_run
from triptych.style.report.glance import glance
from triptych.style.report.page import PARTS, sections

__all__ = ["CLAIMS", "PARTS", "glance", "predictions", "sections", "verdicts"]

TITLE = "Style transfer of images and videos"
PAPER = "*Style Transfer of Images and Videos* (Shen and Wang, 2022)"


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/style_claims.csv."""
    run, facts = read_run({name: read_frames(paths) for name, paths in files.items()}, settings)
    return judge(CLAIMS, facts, run)


def predictions(workflow: Any, on_gpu: bool) -> dict[str, Unmet]:
    """The unmet needs of each claim for a run that has not begun. workflow: of its config."""
    return predict(CLAIMS, planned_facts(workflow, on_gpu))

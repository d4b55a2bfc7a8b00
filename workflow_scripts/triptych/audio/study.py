"""The audio study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

from triptych.audio.report import page
from triptych.audio.report.claims import CLAIMS
from triptych.audio.report.claims_facts import planned_facts, read_run
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.files import read_frames
from triptych.report.claims import Unmet, Verdict, judge, predict
from triptych.report.files import Files
from triptych.report.glance import Glance
from triptych.report.page import PageFigure, Section

TITLE = "Text-to-audio retrieval"
PAPER = (
    "*CP-JKU's submission to Task 6b of the DCASE2023 challenge: audio retrieval with PaSST and "
    "GPT-augmented captions* (Primus, Koutini and Widmer, 2023)"
)
PARTS = page.PARTS
SHOWN = ("table1", "table2", "leaks")


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/audio_claims.csv."""
    run, facts = read_run({name: read_rows(paths) for name, paths in files.items()}, settings)
    return judge(CLAIMS, facts, run)


def predictions(workflow: Any, on_gpu: bool) -> dict[str, Unmet]:
    """The unmet needs of each claim for a run that has not begun. workflow: of its config."""
    return predict(CLAIMS, planned_facts(workflow))


def glance(files: Files, settings: Mapping[str, Any]) -> Glance | None:
    """The study's part of the first screen; None without Table 2."""
    return page.glance(read_frames(files["table2"])) if files["table2"] else None


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    return page.audio_sections(
        figures,
        {name: read_frames(files[name]) for name in SHOWN if files[name]},
        AudioStudy.read(**settings["study"]),
        submitted=bool(files["submissions"]),
    )

"""The audio study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.audio.report import page
from triptych.audio.report.claims import CLAIMS
from triptych.audio.report.claims_needs import tables_of
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.summary import Summary

__all__ = ["CLAIMS", "PAPER", "PARTS", "TITLE", "glance", "read_tables", "sections", "tables_of"]

TITLE = "Text-to-audio retrieval"
PAPER = (
    "*CP-JKU's submission to Task 6b of the DCASE2023 challenge: audio retrieval with PaSST and "
    "GPT-augmented captions* (Primus, Koutini and Widmer, 2023)"
)
PARTS = page.PARTS
SHOWN = ("table1", "table2", "leaks")


def read_tables(files: Files) -> dict[str, pd.DataFrame]:
    """The files of `Workflow.claims`, of which `tables_of` makes what claims compare."""
    return {name: read_rows(paths) for name, paths in files.items()}


def glance(files: Files, settings: Mapping[str, Any]) -> Summary | None:
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

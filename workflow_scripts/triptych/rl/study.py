"""The offline-RL study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.summary import Summary
from triptych.rl.report import page
from triptych.rl.report.claims import CLAIMS
from triptych.rl.report.claims_masks import tables_of

__all__ = ["CLAIMS", "PAPER", "PARTS", "TITLE", "glance", "read_tables", "sections", "tables_of"]

PARTS = page.PARTS
TITLE = "Single-shot pruning for offline RL"
PAPER = (
    "*Single-Shot Pruning for Offline Reinforcement Learning* (Arnob, Ohib, Plis and Precup, 2021)"
)


def read_tables(files: Files) -> dict[str, pd.DataFrame]:
    """The files of `Workflow.claims`, of which `tables_of` makes what claims compare."""
    return {name: read_frames(paths) for name, paths in files.items() if paths}


def glance(files: Files, settings: Mapping[str, Any]) -> Summary | None:
    """The study's part of the first screen; None where one of its tables is missing."""
    names = ("table1", "scores", "datasets")
    if not all(files[name] for name in names):
        return None
    return page.glance(
        **{name: read_frames(files[name]) for name in names},
        sensors=read_frames(files["sensors"]) if files["sensors"] else None,
        observations=settings["observations"],
        updates=settings["updates"],
    )


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = {name: read_frames(paths) for name, paths in files.items() if paths}
    return page.rl_sections(frames, settings, figures)

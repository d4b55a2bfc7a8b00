"""The audio study, as claims and page ask for it (`triptych.studies.Study`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.audio.report import headlines as numbers
from triptych.audio.report.claims import CRITERIA, AudioScores
from triptych.audio.report.claims_data import AudioData
from triptych.audio.report.claims_statistics import Statistics
from triptych.audio.report.claims_verdicts import audio_verdicts
from triptych.audio.report.page import TITLES, audio_sections
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.scoreboard import Headline
from triptych.report.verdicts import Verdict

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

TITLE = "Text-to-audio retrieval"
PAPER = (
    "*CP-JKU's submission to Task 6b of the DCASE2023 challenge: audio retrieval with PaSST and "
    "GPT-augmented captions* (Primus, Koutini and Widmer, 2023)"
)
SHOWN = ("table1", "table2", "ensembles", "leaks", "beyond", "usage")


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/audio_claims.csv."""
    return verdicts_on({name: read_rows(paths) for name, paths in files.items()}, settings)


def verdicts_on(frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The same, from the frames that those files hold."""
    data = AudioData.read(
        counts=frames["counts"],
        manifest=frames["manifest"],
        captions=frames["captions"],
        variations=frames["variations"],
        usage=frames["usage"],
        **settings["trained"],
    )
    scores = AudioScores.read(
        frames["queries"],
        frames["history"],
        frames["ensembles"],
        frames["subsets"],
        frames["published"],
        Statistics.read(
            clips=frames["clips"],
            captions=frames["captions"],
            asked=frames["asked"],
            unfiltered=frames["unfiltered"],
            sources=settings["study"]["sources"],
            backend=settings["study"]["backend"],
        ),
        AudioStudy.read(**settings["study"]),
        data,
    )
    return audio_verdicts(scores)


def headlines(files: Files, settings: Mapping[str, Any]) -> list[Headline]:
    """Its published numbers, from Table 2."""
    return numbers.headlines(read_frames(files["table2"]))


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    return audio_sections(
        **{name: read_frames(files[name]) for name in SHOWN},
        clips=read_rows(files["clips"]),
        study=AudioStudy.read(**settings["study"]),
        figures=figures,
        submitted=bool(files.get("submissions")),
    )

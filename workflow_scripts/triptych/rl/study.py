"""The offline-RL study, as claims and page ask for it (`triptych.studies`)."""

from collections.abc import Mapping
from typing import Any

from triptych.core.files import read_frames
from triptych.report.claims import Unmet, Verdict, judge, predict
from triptych.report.files import Files
from triptych.report.glance import Glance
from triptych.report.page import PageFigure, Section
from triptych.rl.report import page
from triptych.rl.report.claims import CLAIMS
from triptych.rl.report.claims_facts import planned_facts, read_run

PARTS = page.PARTS
TITLE = "Single-shot pruning for offline RL"
PAPER = (
    "*Single-Shot Pruning for Offline Reinforcement Learning* (Arnob, Ohib, Plis and Precup, 2021)"
)


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/rl_claims.csv."""
    frames = {name: read_frames(paths) for name, paths in files.items() if paths}
    run, facts = read_run(frames, settings)
    return judge(CLAIMS, facts, run)


def predictions(workflow: Any, on_gpu: bool) -> dict[str, Unmet]:
    """The unmet needs of each claim for a run that has not begun. workflow: of its config."""
    return predict(CLAIMS, planned_facts(workflow.config))


def glance(files: Files, settings: Mapping[str, Any]) -> Glance | None:
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

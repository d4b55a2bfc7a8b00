"""The offline-RL study, as claims and page ask for it (`triptych.studies.Study`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.present.files import Files
from triptych.present.page import PageFigure, Section
from triptych.present.verdicts import Verdict
from triptych.rl.report import claims, claims_networks
from triptych.rl.report.claims import CRITERIA
from triptych.rl.report.page import TITLES, rl_sections
from triptych.rl.report.scores import run_scores

__all__ = ["CRITERIA", "PAPER", "TITLE", "TITLES", "sections", "verdicts", "verdicts_on"]

TITLE = "Single-shot pruning for offline RL"
PAPER = (
    "*Single-Shot Pruning for Offline Reinforcement Learning* (Arnob, Ohib, Plis and Precup, 2021)"
)


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/rl_claims.csv."""
    return verdicts_on({name: read_frames(paths) for name, paths in files.items()}, settings)


def verdicts_on(frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The same, from the frames that those files hold."""
    evaluations, layers = frames["scores"], frames["layers"]
    scored = run_scores(evaluations, settings["last_evaluations"])
    conditions = claims.conditions(
        evaluations, frames["trained_layers"], frames["datasets"], settings["precision"]
    )
    return [
        claims.bc_keeps_score(scored, conditions),
        claims.bcq_keeps_score_but_on_hopper(scored, conditions),
        claims_networks.last_layer_keeps_most(layers, frames["datasets"]),
        claims_networks.memory_shrinks_four_times(frames["sizes"], layers),
        claims_networks.sparse_inference_is_faster(frames["latency"], layers),
    ]


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames = {name: read_frames(paths) for name, paths in files.items()}
    # Some runs are trained and measured, and stand in two files.
    return rl_sections(
        **{**frames, "layers": frames["layers"].drop_duplicates()},
        latency_task=settings["latency_task"],
        figures=figures,
    )

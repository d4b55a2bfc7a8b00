"""The offline-RL study, as claims and page ask for it (`triptych.studies.Study`)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.core.files import read_frames
from triptych.report.files import Files
from triptych.report.page import PageFigure, Section
from triptych.report.scoreboard import Headline
from triptych.report.verdicts import Verdict
from triptych.rl.report import claims, claims_networks, claims_ours
from triptych.rl.report import headlines as numbers
from triptych.rl.report.claims import CRITERIA, TASKS
from triptych.rl.report.page import TITLES, rl_sections
from triptych.rl.report.scores import default_pruning, run_scores, seen_as

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

TITLE = "Single-shot pruning for offline RL"
PAPER = (
    "*Single-Shot Pruning for Offline Reinforcement Learning* (Arnob, Ohib, Plis and Precup, 2021)"
)


def verdicts(files: Files, settings: Mapping[str, Any]) -> list[Verdict]:
    """A verdict on each claim, in the order of resources/published/rl_claims.csv."""
    return verdicts_on({name: read_frames(paths) for name, paths in files.items()}, settings)


def verdicts_on(frames: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[Verdict]:
    """The same, from the frames that those files hold."""
    # The claims are about the paper's tasks, whatever else was run.
    used = ("scores", "layers", "sizes", "trained_layers", "datasets", "latency")
    frames = {name: frames[name][frames[name]["task"].isin(TASKS)] for name in used}
    kind, last = settings["observations"], settings["last_evaluations"]
    evaluations, layers, sizes = (
        seen_as(frames[name], kind) for name in ("scores", "layers", "sizes")
    )
    scored = run_scores(evaluations, last)

    def conditions(algorithm: str) -> claims.Conditions:
        trained = frames["trained_layers"]
        return claims.conditions(
            evaluations[evaluations["algorithm"] == algorithm],
            trained[trained["networks"] == settings["networks"].get(algorithm)],
            frames["datasets"],
            settings["precision"],
            last,
        )

    return [
        claims.bc_keeps_score(scored, conditions("BC")),
        claims.bcq_keeps_score_but_on_hopper(scored, conditions("BCQ")),
        claims_networks.last_layer_keeps_most(layers, frames["datasets"]),
        claims_networks.memory_shrinks_four_times(sizes, layers),
        claims_networks.sparse_inference_is_faster(frames["latency"], layers),
        claims_ours.normalising_makes_it_work(
            run_scores(default_pruning(frames["scores"]), last), conditions("BC")
        ),
        claims_ours.criteria_beat_their_shuffles(scored, conditions("BC")),
    ]


def headlines(files: Files, settings: Mapping[str, Any]) -> list[Headline]:
    """Its published numbers, from Table 1 and the scores."""
    return numbers.headlines(read_frames(files["table1"]), read_frames(files["scores"]))


def sections(
    files: Files, settings: Mapping[str, Any], figures: Mapping[str, PageFigure]
) -> list[Section]:
    """The study's part of the page."""
    frames: dict[str, Any] = {name: read_frames(paths) for name, paths in files.items()}
    # Some runs are trained and measured, and stand in two files.
    frames["layers"] = frames["layers"].drop_duplicates()
    return rl_sections(**frames, **settings, figures=figures)

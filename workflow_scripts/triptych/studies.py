"""The papers: the one list through which rules, page, claims, plan and command line reach them.

Each has the same few modules for all others to ask: `workflow` (what its rules ask, from config)
and `study` (its claims and its part of the page). Its rules stand in rules/<name>.smk.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from triptych.report.files import Files

if TYPE_CHECKING:  # Snakemake needs NAMES and no Jinja
    from triptych.report.claims import Claim, Lacking, Verdict
    from triptych.report.page import PageFigure, Section
    from triptych.report.scoreboard import Headline

NAMES = {
    "style": "Style transfer",
    "audio": "Audio retrieval",
    "rl": "Offline RL",
}
"""In the page's order: a study's section of the config, with which its rules, figures, tables and
claims begin, and what lists call it."""


class Study(Protocol):
    """What a wing's module `study` says."""

    @property
    def TITLE(self) -> str:
        """The title of its part of the page."""

    @property
    def PAPER(self) -> str:
        """Title, authors, year (Markdown)."""

    @property
    def CLAIMS(self) -> "Sequence[Claim]":
        """Its claims, in the order of resources/published/<name>_claims.csv."""

    @property
    def TITLES(self) -> Mapping[str, str]:
        """The titles of its figures, by name."""

    def headlines(self, files: Files, settings: Mapping[str, Any]) -> "list[Headline]":
        """Published numbers beside this run's, from what its part of the page shows."""

    def verdicts(self, files: Files, settings: Mapping[str, Any]) -> "list[Verdict]":
        """A verdict on each claim, from the files and settings that its `workflow` names."""

    def lacking(self, workflow: Any, on_gpu: bool) -> "dict[str, Lacking]":
        """What a run that has not begun will lack to test each claim. workflow: of its config."""

    def sections(
        self, files: Files, settings: Mapping[str, Any], figures: "Mapping[str, PageFigure]"
    ) -> "list[Section]":
        """Its part of the page, likewise; figures: its own, by name."""


def studies() -> dict[str, Study]:
    """Every study by its name."""
    from triptych.audio import study as audio
    from triptych.rl import study as rl
    from triptych.style import study as style

    return {
        "style": style,
        "audio": audio,
        "rl": rl,
    }


def foreseen(config: Mapping[str, Any], sources: Mapping[str, Any]) -> "dict[str, Lacking]":
    """What a run of a config will lack to test each claim, by the claims' ids.

    sources: resources/sources.yaml. Raises ConfigError where a study's values don't fit together.
    """
    found: dict[str, Lacking] = {}
    for name, study in studies().items():
        workflow = import_module(f"triptych.{name}.workflow").Workflow(config, sources)
        found |= study.lacking(workflow, config["device"] == "cuda")
    return found


def inputs_of(wings: Mapping[str, Any], part: str) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Inputs of a rule that asks every study for its `part`, claims or page, and their settings.

    wings: each study's Workflow. An input's name begins with its study's; settings are by study.
    """
    asked = {name: getattr(wing, part) for name, wing in wings.items()}
    files = {
        f"{name}_{key}": paths for name, (own, _) in asked.items() for key, paths in own.items()
    }
    return files, {name: settings for name, (_, settings) in asked.items()}


def files_of(name: str, given: Mapping[str, Any]) -> dict[str, list[str]]:
    """A study's files among such inputs."""
    start = f"{name}_"
    return {
        key.removeprefix(start): [files] if isinstance(files, str) else list(map(str, files))
        for key, files in given.items()
        if key.startswith(start)
    }

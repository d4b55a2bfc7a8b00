"""The papers: the one list through which rules, page, claims, plan and command line reach them.

Each has the same two modules for all others to ask. `workflow` says what its rules ask, from
config. `study` has a TITLE, the PAPER's (Markdown), its CLAIMS, the TITLES of its figures, and
functions of the files and settings that `workflow` names: `verdicts` on each claim, `headlines`
(published numbers beside this run's), `sections` of the page; and `lacking`, what a run that has
not begun will lack to test each claim. Its rules stand in rules/<name>.smk.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Snakemake needs NAMES and no pandas
    from triptych.report.claims import Lacking

NAMES = {
    "style": "Style transfer",
    "audio": "Audio retrieval",
    "rl": "Offline RL",
}
"""In the page's order: a study's section of the config, with which its rules, figures, tables and
claims begin, and what lists call it."""


def studies() -> dict[str, Any]:
    """The module `study` of each by its name."""
    from triptych.audio import study as audio
    from triptych.rl import study as rl
    from triptych.style import study as style

    return {
        "style": style,
        "audio": audio,
        "rl": rl,
    }


def workflows() -> dict[str, Any]:
    """The module `workflow` of each by its name: imports that code digests can follow."""
    from triptych.audio import workflow as audio_workflow
    from triptych.rl import workflow as rl_workflow
    from triptych.style import workflow as style_workflow

    return {
        "style": style_workflow,
        "audio": audio_workflow,
        "rl": rl_workflow,
    }


def foreseen(config: Mapping[str, Any], sources: Mapping[str, Any]) -> "dict[str, Lacking]":
    """What a run of a config will lack to test each claim, by the claims' ids.

    sources: resources/sources.yaml. Raises ConfigError where a study's values don't fit together.
    """
    found: dict[str, Lacking] = {}
    modules = workflows()
    for name, study in studies().items():
        found |= study.lacking(modules[name].Workflow(config, sources), config["device"] == "cuda")
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

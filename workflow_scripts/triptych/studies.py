"""The papers: the one list through which rules, page, claims, plan and command line reach them.

Each has the same two modules for all others to ask. `workflow` says what its rules ask, from
config, and may have `without`: the config that leaves out what jobs that can't run are of. `study`
has a TITLE, the PAPER's (Markdown), its CLAIMS, the PARTS of its page by anchor, and functions of
the files and settings that `workflow` names: `read_tables` and `tables_of` make what the claims
compare; `glance` (its part of the first screen) and `sections` of the page, for which files may be
missing. Its rules stand in rules/<name>.smk.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from triptych.report.files import Files

if TYPE_CHECKING:  # Snakemake needs NAMES and no pandas
    from triptych.report.claims import Unmet

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


def predictions(config: Mapping[str, Any], sources: Mapping[str, Any]) -> "dict[str, Unmet]":
    """Predict which needs of each claim a run of this config will not meet, by the claims' ids.

    sources: resources/sources.yaml. Raises ConfigError where a study's values don't fit together.
    """
    from triptych.report.claims import predict

    unmet: dict[str, Unmet] = {}
    modules = workflows()
    for name, study in studies().items():
        workflow = modules[name].Workflow(config, sources)
        unmet |= predict(study.CLAIMS, workflow)
    return unmet


def criteria(config: Mapping[str, Any], sources: Mapping[str, Any]) -> dict[str, str]:
    """Each claim's rule and needs, by its id: in the same words for every config."""
    modules = workflows()
    return {
        claim.id: claim.criterion(modules[name].Workflow(config, sources))
        for name, study in studies().items()
        for claim in study.CLAIMS
    }


def page_input(workflows: Mapping[str, Any]) -> dict[str, list[str]]:
    """Input of the page: each study's files, by the study's name and theirs; figures, and what the
    repository has about them and the claims."""
    figures = [name for workflow in workflows.values() for name in workflow.figures]
    return {
        **{
            f"{name}_{key}": paths
            for name, workflow in workflows.items()
            for key, paths in workflow.page[0].items()
        },
        "figures": [f"results/figures/{name}.svg" for name in figures],
        "captions": [f"resources/captions/{name}.rst" for name in figures],
        "published_claims": [f"resources/published/{name}_claims.csv" for name in workflows],
        "sources": ["resources/sources.yaml"],
    }


def page_files(name: str, files: Files) -> dict[str, Sequence[str]]:
    """A study's files in the input of the page."""
    prefix = f"{name}_"
    return {key.removeprefix(prefix): files[key] for key in files if key.startswith(prefix)}

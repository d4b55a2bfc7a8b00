"""The papers: the one list through which rules, page, claims, plan and command line reach them.

Each has a module `workflow`: what its rules ask, from config. Its claims are `report/claims.py`,
its part of the page is report/<name>.md, its rules stand in rules/<name>.smk.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Snakemake needs NAMES and no pandas
    from triptych.report.claims import Claim, Unmet

NAMES = {
    "style": "Style transfer",
    "audio": "Audio retrieval",
    "rl": "Offline RL",
}
"""In the page's order: a study's section of the config, with which its rules, figures, tables and
claims begin, and what lists call it."""


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


def claims() -> "dict[str, Sequence[Claim]]":
    """The claims of each by its name."""
    from triptych.audio.report import claims as audio_claims
    from triptych.rl.report import claims as rl_claims
    from triptych.style.report import claims as style_claims

    return {
        "style": style_claims.CLAIMS,
        "audio": audio_claims.CLAIMS,
        "rl": rl_claims.CLAIMS,
    }


def predictions(config: Mapping[str, Any], sources: Mapping[str, Any]) -> "dict[str, Unmet]":
    """Predict which needs of each claim a run of this config will not meet, by the claims' ids.

    sources: resources/sources.yaml. Raises ConfigError where a study's values don't fit together.
    """
    from triptych.report.claims import predict

    modules = workflows()
    unmet: dict[str, Unmet] = {}
    for name, of_study in claims().items():
        unmet |= predict(of_study, modules[name].Workflow(config, sources))
    return unmet


def criteria(config: Mapping[str, Any], sources: Mapping[str, Any]) -> dict[str, str]:
    """Rule and needs of each claim of the studies that a config has, by its id: in the same words
    for every config."""
    modules = workflows()
    return {
        claim.id: claim.criterion(modules[name].Workflow(config, sources))
        for name, of_study in claims().items()
        if name in config
        for claim in of_study
    }

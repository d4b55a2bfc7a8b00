"""Runs a rule's script as Snakemake does, in the current folder."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "workflow_scripts"


class Named(list):
    """Snakemake's lists: flat, and their entries have names too."""

    def __init__(self, *entries: object, **named: object) -> None:
        for entry in entries or named.values():
            self.extend(entry if isinstance(entry, list) else [entry])
        self.__dict__.update(named)
        self.items, self.get = named.items, named.get

    def __getitem__(self, key: Any) -> Any:
        return self.get(key) if isinstance(key, str) else super().__getitem__(key)


def run(rule: str, given: dict, output: Named, threads: int = 1, **params: object) -> None:
    """Run a rule's script with these inputs, outputs and params."""
    snakemake = SimpleNamespace(
        rule=rule,
        input=Named(**given),
        output=output,
        params=Named(**params),
        resources=Named(),
        log=[f"results/logs/{rule}/log.log"],
        wildcards=Named(painting="swirls"),
        threads=threads,
    )
    script = SCRIPTS / f"{rule.replace('_', '/', 1)}.py"
    runpy.run_path(str(script), init_globals={"snakemake": snakemake})

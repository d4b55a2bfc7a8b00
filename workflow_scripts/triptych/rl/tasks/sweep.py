"""The experiment table of the offline-RL study: every run is a row, every job a stack of rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from triptych.rl.methods import ALGORITHMS, DENSE

INFRASTRUCTURE = True

KEYS = ("task", "observations", "method", "pruning", "sparsity_percent", "seed")
"""The columns that identify a run."""
DEFAULT = "default"
"""The pruning of `rl.pruning` itself, not of one of its variants."""
MEASURED = "measured"
"""Name of the sweep whose networks are only pruned."""

Run = dict[str, Any]
"""A row of the table: KEYS, and sweep, networks (name of a set of widths), trained, stack,
max_transitions (number of transitions that it is trained on; None: all)."""


def keys_of(run: Mapping[Any, Any]) -> dict[str, Any]:
    """The values that identify a run, for params, metadata and error messages."""
    return {key: run[key] for key in KEYS}


def runs_of(config: Mapping[str, Any]) -> list[Run]:
    """All runs of the config's section `rl`: each sweep's, which are trained, and the measured.

    Each list of a sweep's `runs` is a stack on each task, so that another list leaves it as it is;
    with a number for `runs_per_job` it is several stacks, each of at most so many runs of one
    sparsity. A run that two lists of a sweep name stands in the first. A run that is trained and
    measured stands in both, so that what is measured waits for no training.
    """
    sweeps = [(name, sweep, config["runs_per_job"]) for name, sweep in config["sweeps"].items()]
    return [
        {**run, "trained": name != MEASURED, "stack": stack}
        for name, sweep, size in [*sweeps, (MEASURED, config["mask_statistics"], "all")]
        for run, stack in _stacked(_runs(config, name, sweep), size)
    ]


def algorithms_of(config: Mapping[str, Any], stack: str) -> dict[str, dict[str, Any]]:
    """The algorithms of a stack's runs, and the settings of each; the first is trained, and its
    training contains the others."""
    names = config["sweeps"][stack.partition("-")[0]]["algorithms"]
    return {name: config.get(ALGORITHMS[name].section, {}) for name in names}


def _runs(config: Mapping[str, Any], name: str, sweep: Mapping[str, Any]) -> list[Run]:
    """A sweep's runs with their list: dense ones for each way of seeing observations and number of
    transitions, and each method at each sparsity."""
    cells: dict[tuple[Any, ...], str] = {}
    for list_name, part in sweep["runs"].items():
        kind = part.get("observations", config["observations"])
        pruning, count = part.get("pruning", DEFAULT), part.get("max_transitions")
        cells.setdefault((count, kind, DENSE, DEFAULT, 0), list_name)
        for level in part["sparsities"]:
            for method in part["methods"]:
                cells.setdefault((count, kind, method, pruning, level), list_name)
    return [
        {
            **dict(zip(KEYS, (task, *cell, seed), strict=True)),
            "sweep": name,
            "list": list_name,
            "networks": sweep["widths"],
            "max_transitions": count,
        }
        for task in config["tasks"]
        for (count, *cell), list_name in cells.items()
        for seed in sweep["seeds"]
    ]


def _stacked(runs: Iterable[Run], size: int | str) -> Iterable[tuple[Run, str]]:
    """Each run with the name of its stack: its sweep, its list, and the sparsity and number of the
    part where a list is split."""
    before: Counter[tuple[Any, ...]] = Counter()
    for run in runs:
        stack = f"{run['sweep']}-{run['list']}"
        if size != "all":
            alike = run["task"], stack, run["sparsity_percent"]
            before[alike] += 1
            number = (before[alike] - 1) // int(size) + 1
            stack += f"-sp{run['sparsity_percent']:g}-{number}"
        yield run, stack

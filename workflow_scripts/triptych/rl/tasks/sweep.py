"""The experiment table of the offline-RL study: every run is a row, every job a stack of rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triptych.rl.methods import DENSE

INFRASTRUCTURE = True

KEYS = ("task", "observations", "method", "pruning", "sparsity_percent", "seed")
"""The columns that identify a run."""
DEFAULT = "default"
"""The pruning of `rl.pruning` itself, not of one of its variants."""
ONLY_PRUNED = "measured"
"""Name of the sweep whose networks are only pruned."""

Run = dict[str, Any]
"""A row of the table: KEYS, and sweep, list, networks (name of a set of widths), trained, stack
(name), max_transitions (number of transitions that it is trained on; None: all)."""


@dataclass(frozen=True)
class Stack:
    """The runs of one job: those of one list of a sweep on one task, or a part of them.

    name: of its folder. algorithms: the first is trained, and its training contains the others;
    none where networks are only pruned.
    """

    task: str
    name: str
    algorithms: tuple[str, ...]
    runs: list[Run]


def keys_of(run: Mapping[Any, Any]) -> dict[str, Any]:
    """The values that identify a run, for params, metadata and error messages."""
    return {key: run[key] for key in KEYS}


def stacks_of(config: Mapping[str, Any]) -> list[Stack]:
    """The stacks of the config's section `rl`: each sweep's, which are trained, and the measured.

    Each list of a sweep's `runs` is a stack on each task, so that another list leaves it as it is;
    with a number for `runs_per_job` it is several stacks, each of at most so many runs of one
    sparsity. A run that two lists of a sweep name stands in the first. A run that is trained and
    measured stands in both, so that what is measured waits for no training.
    """
    stacks: dict[tuple[str, str], Stack] = {}
    sweeps = [(name, sweep, config["runs_per_job"]) for name, sweep in config["sweeps"].items()]
    for sweep_name, sweep, size in [*sweeps, (ONLY_PRUNED, config["mask_statistics"], "all")]:
        before: Counter[tuple[Any, ...]] = Counter()
        for run in _runs(config, sweep_name, sweep):
            task, level = run["task"], run["sparsity_percent"]
            name = f"{sweep_name}-{run['list']}"
            if size != "all":
                alike = task, name, level
                name += f"-sp{level:g}-{before[alike] // int(size) + 1}"
                before[alike] += 1
            algorithms = tuple(sweep.get("algorithms", ()))
            stack = stacks.setdefault((task, name), Stack(task, name, algorithms, []))
            stack.runs.append({**run, "trained": sweep_name != ONLY_PRUNED, "stack": name})
    return list(stacks.values())


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

"""The experiment table of the offline-RL study: every run is a row, every job a stack of rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from triptych.rl.algorithms.registry import ALGORITHMS

KEYS = ("task", "observations", "method", "pruning", "sparsity_percent", "seed")
"""What names a run."""
DEFAULT = "default"
"""The pruning that `rl.pruning` says itself, and not one of its variants."""
MEASURED = "measured"
"""The stack of a task's runs of which only masks are made."""

Run = dict[str, Any]
"""A row of the table: KEYS, and sweep, networks (name of a set of widths), trained, stack, first
(the number of transitions that it is trained on; 0: all)."""


def keys_of(run: Mapping[Any, Any]) -> dict[str, Any]:
    """What names a run, for params, metadata and error messages."""
    return {key: run[key] for key in KEYS}


def runs_of(config: Mapping[str, Any]) -> list[Run]:
    """All runs of the config's section `rl`: each sweep's, which are trained, and the measured.

    A stack of trained runs holds at most `runs_per_job` rows of one sparsity, so that a sparsity
    added later leaves the other stacks as they were; with "all" it holds every run of a sweep on
    one task. The measured runs of a task are one stack. A run that is trained and measured stands
    in both, so that what is measured waits for no training.
    """
    tasks, usual, size = config["tasks"], config["observations"], config["runs_per_job"]
    table = []
    for name, sweep in (config["sweeps"] | small_data_sweeps(config)).items():
        of_sweep = _runs(tasks, name, sweep, usual)
        table += [
            {**run, "trained": True, "stack": stack, "first": sweep.get("first", 0)}
            for run, stack in zip(of_sweep, _stacks(of_sweep, size), strict=True)
        ]
    measured = _runs(tasks, MEASURED, config["mask_statistics"], usual)
    return table + [{**run, "trained": False, "stack": MEASURED, "first": 0} for run in measured]


def small_data_sweeps(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What `rl.small_data` trains, as sweeps by name; `first`: on so many transitions."""
    table, sparsities = config["small_data"], [config["shown_sparsity"]]
    return {
        f"small_{first}_{name.lower().replace('+', '_')}": {
            "algorithms": [name],
            "first": first,
            "widths": table["widths"],
            "seeds": table["seeds"],
            "runs": {"small": {"methods": table["methods"], "sparsities": sparsities}},
        }
        for name in table["algorithms"]
        for first in table["transitions"]
    }


def algorithms_of(config: Mapping[str, Any], stack: str) -> dict[str, dict[str, Any]]:
    """What the runs of a stack are trained for, and the settings of each; the first one's training
    contains the others."""
    sweeps = config["sweeps"] | small_data_sweeps(config)
    names = sweeps[stack.partition("-")[0]]["algorithms"]
    return {name: config.get(ALGORITHMS[name].section, {}) for name in names}


def _runs(tasks: Iterable[str], name: str, sweep: Mapping[str, Any], usual: str) -> list[Run]:
    """Dense runs for each way of seeing observations, and each method at each sparsity."""
    cells: dict[tuple[str, str, str, float], None] = {}
    for part in sweep["runs"].values():
        kind, how = part.get("observations", usual), part.get("pruning", DEFAULT)
        cells[kind, "dense", DEFAULT, 0] = None
        levels, methods = part["sparsities"], part["methods"]
        cells |= dict.fromkeys((kind, method, how, level) for level in levels for method in methods)
    return [
        {"sweep": name, "networks": sweep["widths"]}
        | dict(zip(KEYS, (task, *cell, seed), strict=True))
        for task in tasks
        for cell in cells
        for seed in sweep["seeds"]
    ]


def _stacks(runs: Iterable[Run], size: int | str) -> Iterable[str]:
    """The name of each run's stack."""
    before: Counter[tuple[str, float]] = Counter()
    for run in runs:
        if size == "all":
            yield f"{run['sweep']}-all"
            continue
        alike = run["task"], run["sparsity_percent"]
        yield f"{run['sweep']}-sp{run['sparsity_percent']:g}-{before[alike] // int(size) + 1}"
        before[alike] += 1

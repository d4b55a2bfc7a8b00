"""The experiment table of the offline-RL study: every run is a row, every job a stack of rows."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from triptych.rl.algorithms.registry import ALGORITHMS

KEYS = ("task", "observations", "method", "pruning", "sparsity_percent", "seed")
"""What names a run."""
DEFAULT = "default"
"""The pruning that `rl.pruning` says itself, and not one of its variants."""
STACK = ["task", "networks", "stack"]
"""What names a job."""
MEASURED = "measured"
"""The stack of a task's runs of which only masks are made."""


def run_records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Each run's keys as a plain dictionary, for params, metadata and error messages."""
    return [dict(zip(KEYS, run, strict=True)) for run in runs[list(KEYS)].to_numpy().tolist()]


def runs_of(config: Mapping[str, Any]) -> pd.DataFrame:
    """All runs of the config's section `rl`: each sweep's, which are trained, and the measured.

    Columns: task, sweep, networks (name of a set of widths), observations, method, pruning
    (DEFAULT, or a variant's name), sparsity_percent, seed, trained (bool) and stack. A stack of
    trained runs holds at most
    `stack` rows of one sparsity, so that a sparsity added later leaves the other stacks as they
    were; with `stack` = "all" it holds every run of a sweep on one task. The measured runs of a
    task are one stack. A run that is trained and measured stands in both, so that what is measured
    waits for no training.
    """
    tasks, usual = named_tasks(config), config["observations"]
    frames = [
        _runs(tasks, name, sweep, usual).assign(trained=True)
        for name, sweep in sweeps(config).items()
    ]
    for frame in frames:
        frame["stack"] = _stacks(frame, config["stack"])
    measured = _runs(tasks, MEASURED, config["measure"], usual)
    frames.append(measured.assign(trained=False, stack=MEASURED))
    return pd.concat(frames, ignore_index=True)


def named_tasks(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config's tasks, by name; an overlay takes one away by `null`."""
    return {name: task for name, task in config["tasks"].items() if task is not None}


def sweeps(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sweeps that the config trains, by name; an overlay takes one away by `null`."""
    return {name: sweep for name, sweep in config["sweeps"].items() if sweep is not None}


def algorithms_of(config: Mapping[str, Any], stack: str) -> dict[str, dict[str, Any]]:
    """What the runs of a stack are trained for, and the settings of each; the first one's training
    contains the others."""
    names = config["sweeps"][stack.partition("-")[0]]["algorithms"]
    return {name: config.get(ALGORITHMS[name].section, {}) for name in names}


def _runs(tasks: Iterable[str], name: str, sweep: Mapping[str, Any], usual: str) -> pd.DataFrame:
    """Dense runs for each way of seeing observations, and each method at each sparsity."""
    cells: dict[tuple[str, str, str, float], None] = {}
    for part in filter(None, sweep["runs"].values()):
        kind, how = part.get("observations", usual), part.get("pruning", DEFAULT)
        cells[kind, "dense", DEFAULT, 0] = None
        levels, methods = part["sparsities"], part["methods"]
        cells |= dict.fromkeys((kind, method, how, level) for level in levels for method in methods)
    rows = [
        (task, name, sweep["widths"], *cell, seed)
        for task in tasks
        for cell in cells
        for seed in sweep["seeds"]
    ]
    columns = ["task", "sweep", "networks", *KEYS[1:]]
    frame = pd.DataFrame(rows, columns=columns)
    # As config has them: 50 stays 50 beside 99.5.
    levels = [row[columns.index("sparsity_percent")] for row in rows]
    return frame.assign(sparsity_percent=pd.Series(levels, dtype=object))


def _stacks(runs: pd.DataFrame, size: int | str) -> pd.Series:
    if size == "all":
        return runs["sweep"] + "-all"
    within = runs.groupby(["task", "sparsity_percent"]).cumcount()
    part = (within // int(size) + 1).astype(str)
    return runs["sweep"] + "-sp" + runs["sparsity_percent"].map("{:g}".format) + "-" + part

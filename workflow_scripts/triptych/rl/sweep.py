"""The experiment table of the offline-RL study: every run is a row, every job a stack of rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

KEYS = ("task", "method", "sparsity_percent", "seed")
"""What names a run."""


@dataclass(frozen=True)
class Grid:
    """The values that a sweep runs through, for each task; `dense` is added by itself."""

    networks: str
    methods: Sequence[str]
    sparsities: Sequence[int]
    seeds: Sequence[int]
    controls: Sequence[str] = ()
    control_sparsities: Sequence[int] = ()


def run_records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Each run's keys as a plain dictionary, for params, metadata and error messages."""
    return [dict(zip(KEYS, run, strict=True)) for run in runs[list(KEYS)].to_numpy().tolist()]


def runs_of(config: Mapping[str, Any]) -> pd.DataFrame:
    """`experiment_table` of the config's section `rl`."""

    def grid(of: Mapping[str, Any]) -> Grid:
        controls = of.get("controls", {"methods": (), "sparsities": ()})
        return Grid(
            of["widths"],
            of["methods"],
            of["sparsities"],
            of["seeds"],
            controls["methods"],
            controls["sparsities"],
        )

    sweep = config["sweep"]
    return experiment_table(
        config["tasks"], grid(sweep), measured=grid(config["measure"]), stack=sweep["stack"]
    )


def experiment_table(
    tasks: Iterable[str], trained: Grid, measured: Grid, stack: int | str
) -> pd.DataFrame:
    """All runs: the `trained` grid, and the `measured` one, of which only masks are made.

    Columns: task, networks (name of a set of widths), method, sparsity_percent, seed, trained
    (bool) and stack. A stack of trained runs holds at most `stack` rows of one sparsity, so that a
    sparsity added later leaves the other stacks as they were; with `stack` = "all" it holds
    every trained run of a task. The measured runs of a task are one stack. A run that both
    grids name stands in both, so that what is measured waits for no training.
    """
    grids = ((trained, True), (measured, False))
    frames = [_runs(task, grid, to_train) for task in tasks for grid, to_train in grids]
    table = pd.concat(frames, ignore_index=True)
    if stack == "all":
        table["stack"] = "all"
    else:
        within = table.groupby(["task", "networks", "trained", "sparsity_percent"]).cumcount()
        part = (within // int(stack) + 1).astype(str)
        table["stack"] = "sp" + table["sparsity_percent"].astype(str) + "-" + part
    table.loc[~table["trained"], "stack"] = "measured"
    return table


def _runs(task: str, grid: Grid, trained: bool) -> pd.DataFrame:
    runs = [("dense", 0, seed) for seed in grid.seeds]
    for methods, sparsities in (
        (grid.methods, grid.sparsities),
        (grid.controls, grid.control_sparsities),
    ):
        runs += [
            (m, sparsity, seed) for sparsity in sparsities for m in methods for seed in grid.seeds
        ]
    frame = pd.DataFrame(runs, columns=["method", "sparsity_percent", "seed"])
    frame.insert(0, "task", task)
    frame.insert(1, "networks", grid.networks)
    return frame.assign(trained=trained)

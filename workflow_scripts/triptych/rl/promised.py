"""The files of a run that has not begun, as far as its config says what will stand in them.

The judge of the claims reads them before a run as it reads a run's own after it, so that what a
claim needs is written down once. Scores and times are made up, and as a run would wish them: every
dense policy learns. They say whether a claim will be decided, never how.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from triptych.report.verdicts import Verdict
from triptych.rl.algorithms.registry import ALGORITHMS, Bcq, Widths, layer_shapes
from triptych.rl.config_tasks import data_source
from triptych.rl.report.claims import DENSE_KERNELS
from triptych.rl.study import verdicts_on
from triptych.rl.sweep import algorithms_of, runs_of
from triptych.rl.tasks import ASSUMED, SIZES
from triptych.rl.workflow import Workflow

SCORE = 100.0
"""Of the policy behind each task's data, and about that of every other."""
RECORDED = {"d4rl": 1_000_000, "path": 1_000_000, "minari": 1_000_000}
"""Transitions of a data set by where it comes from: about."""


def foreseen(workflow: Workflow, on_gpu: bool) -> list[Verdict]:
    """The judge's verdicts on a run that has not begun: whether each claim will be decided, never
    how. workflow: of its config."""
    return verdicts_on(promised_files(workflow.config), workflow.claims[1])


def promised_files(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """What the claims read, by `Workflow.claims`' names. config: the section `rl` with its named
    tasks."""
    runs = runs_of(config)
    trained, measured = runs[runs["trained"]], runs[~runs["trained"]]
    return {
        "scores": _scores(config, trained),
        "trained_layers": _layers(config, trained),
        "layers": _layers(config, measured),
        "sizes": _crossed(
            measured,
            pd.DataFrame({"network": list(dict.fromkeys(c.network for c in Bcq.chains))}),
            pd.DataFrame({"format": ["dense", "coo"], "bytes": [400, 100]}),
        ),
        "latency": _latency(config, measured),
        "datasets": _datasets(config),
    }


def _scores(config: Mapping[str, Any], trained: pd.DataFrame) -> pd.DataFrame:
    """Every run's last evaluations by each algorithm of its stack; seeds differ a little."""
    evaluation, updates = config["evaluation"], config["training"]["updates"]
    stacks = trained["stack"].drop_duplicates()
    algorithms = pd.DataFrame(
        [(stack, name) for stack in stacks for name in algorithms_of(config, stack)],
        columns=["stack", "algorithm"],
    )
    scored = trained.merge(algorithms, on="stack")
    scored = scored.assign(score_normalised=SCORE - scored["seed"].rank(method="dense") / 10)
    last = [updates - back * evaluation["every"] for back in range(evaluation["last"])]
    return _crossed(
        scored,
        pd.DataFrame({"update": last}),
        pd.DataFrame({"episode": range(evaluation["episodes"])}),
    )


def _layers(config: Mapping[str, Any], runs: pd.DataFrame) -> pd.DataFrame:
    """The layers of every run's networks, those of its stack's first algorithm."""
    frames = []
    for (task, networks, stack), of_stack in runs.groupby(["task", "networks", "stack"]):
        names = list(algorithms_of(config, str(stack))) if of_stack["trained"].any() else []
        algorithm = ALGORITHMS[names[0]] if names else Bcq
        widths = Widths.from_table(config["widths"][networks])
        shapes = layer_shapes(widths, *SIZES.get(str(task), ASSUMED), algorithm)
        group = {
            name: chain.group for chain in algorithm.chains for step in chain.steps for name in step
        }
        layers = pd.DataFrame(
            [
                (*name.split("."), group[name], inputs * outputs, inputs * outputs)
                for name, (inputs, outputs) in shapes.items()
            ],
            columns=["network", "layer", "group", "weights", "kept"],
        )
        frames.append(_crossed(of_stack, layers))
    return pd.concat(frames, ignore_index=True)


def _latency(config: Mapping[str, Any], measured: pd.DataFrame) -> pd.DataFrame:
    """The actor's times by each dense kernel and by a sparse one."""
    wanted = config["latency"]
    kernels = pd.DataFrame({"kernel": [*DENSE_KERNELS, "sparse"], "microseconds_median": 10.0})
    timed = measured[
        (measured["task"] == wanted["task"])
        & (measured["method"] == wanted["method"])
        & (measured["sparsity_percent"] == wanted["sparsity"])
    ].head(1)
    times = _crossed(timed, kernels, pd.DataFrame({"batch": wanted["batches"]}))
    about = {"part": "actor", "candidates": 1, "repeats": wanted["repeats"]}
    return times.assign(**about, microseconds_minimum=9.0, maximum_difference=0.0)


def _datasets(config: Mapping[str, Any]) -> pd.DataFrame:
    collected = config["collect"]["transitions"]
    return pd.DataFrame(
        {
            "task": name,
            "source": data_source(task),
            "transitions": RECORDED.get(task["source"], collected),
            "score_normalised_mean": SCORE,
        }
        for name, task in config["tasks"].items()
    )


def _crossed(frame: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """Every row of the first with every row of the others."""
    for other in others:
        frame = frame.merge(other, how="cross")
    return frame

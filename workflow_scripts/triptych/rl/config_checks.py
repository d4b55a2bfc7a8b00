"""What a config's section `rl` must keep that no schema says: names that exist, runs to show."""

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from triptych.core.config import ConfigError
from triptych.rl.algorithms.registry import ALGORITHMS
from triptych.rl.config_tasks import check_tasks, d4rl_file
from triptych.rl.methods import CRITERIA, PRUNED
from triptych.rl.sweep import DEFAULT, sweeps

SHOWN_PERCENT = 95
"""The sparsity of Figure 3, Table 1 and the claims."""


def check(config: Mapping[str, Any], runs: pd.DataFrame, d4rl_files: Collection[str]) -> None:
    """Raises ConfigError naming the first key whose value the others don't allow.

    config: the section `rl`, without tasks that are null. runs: as `runs_of` returns them.
    """
    check_tasks(config["tasks"], d4rl_files)
    if DEFAULT in config["pruning"]["variants"]:
        raise ConfigError(
            f"config: rl.pruning.variants has one named {DEFAULT}; that is what rl.pruning "
            "itself says: choose another name"
        )
    trained = {f"rl.sweeps.{name}": sweep for name, sweep in sweeps(config).items()}
    for key, sweep in {**trained, "rl.measure": config["measure"]}.items():
        _check_sweep(config, key, sweep, key in trained, d4rl_files)
    _check_algorithms(trained)
    updates, every = config["training"]["updates"], config["evaluation"]["every"]
    evaluations = -(-updates // every)
    if config["evaluation"]["last"] > evaluations:
        raise ConfigError(
            f"config: rl.evaluation.last is {config['evaluation']['last']}; allowed is at most "
            f"{evaluations}, the evaluations that {updates} updates with one every {every} make"
        )
    shown = runs[~runs["trained"] & (runs["observations"] == config["observations"])]
    shown = shown[shown["pruning"] == DEFAULT]
    if not (shown["sparsity_percent"] == SHOWN_PERCENT).any():
        raise ConfigError(
            f"config: rl.measure.runs make no mask of {SHOWN_PERCENT}% for observations "
            f"{config['observations']}; Figure 3 and Table 1 show it"
        )


def _check_sweep(
    config: Mapping[str, Any],
    key: str,
    sweep: Mapping[str, Any],
    is_trained: bool,
    d4rl_files: Collection[str],
) -> None:
    """Its widths and methods are known, and its variants of the pruning."""
    if sweep["widths"] not in config["widths"]:
        raise ConfigError(
            f"config: {key}.widths is {sweep['widths']!r}; "
            f"allowed is a name from rl.widths: {', '.join(config['widths'])}"
        )
    # What is only measured isn't trained, so no mask can change in its training.
    allowed = [name for name in PRUNED if is_trained or not PRUNED[name].changes]
    for part, runs in sweep["runs"].items():
        if runs is None:
            continue
        if unknown := sorted({*runs["methods"]} - {*allowed}):
            raise ConfigError(
                f"config: {key}.runs.{part}.methods names {', '.join(unknown)}; "
                f"allowed are {', '.join(allowed)}"
            )
        if runs.get("pruning", DEFAULT) != DEFAULT:
            _check_variant(config, f"{key}.runs.{part}", runs, d4rl_files)


def _check_variant(
    config: Mapping[str, Any], key: str, runs: Mapping[str, Any], d4rl_files: Collection[str]
) -> None:
    """A variant is known, used by methods that look at data, and its data are there."""
    name, variants = runs["pruning"], config["pruning"]["variants"]
    if name not in variants:
        raise ConfigError(
            f"config: {key}.pruning is {name!r}; allowed is {DEFAULT} or a name from "
            f"rl.pruning.variants: {', '.join(variants) or 'there is none'}"
        )
    blind = [each for each in runs["methods"] if (PRUNED[each].scores or each) not in CRITERIA]
    if blind:
        raise ConfigError(
            f"config: {key}.pruning is {name!r}, which changes nothing for "
            f"{', '.join(blind)}: no loss is in their masks"
        )
    if not (quality := variants[name].get("quality")):
        return
    for task, table in config["tasks"].items():
        there = {
            "d4rl": d4rl_file(task, {**table, "quality": quality}) in d4rl_files,
            "collected": quality == "medium",  # of each task that has an expert
        }
        if not there.get(table["source"]):
            raise ConfigError(
                f"config: {key}.pruning is {name!r}, whose data have the quality {quality!r}; "
                f"of {task}, {table['source']}, there are none such"
            )


def _check_algorithms(sweeps_: Mapping[str, Mapping[str, Any]]) -> None:
    """A sweep is one training; each algorithm is of one, so that a score is of one set of widths.

    sweeps_: by their keys in the config.
    """
    trained: dict[str, str] = {}
    for key, sweep in sweeps_.items():
        first, *others = sweep["algorithms"]
        if unknown := [name for name in (first, *others) if name not in ALGORITHMS]:
            raise ConfigError(
                f"config: {key}.algorithms names {', '.join(unknown)}; allowed are "
                f"{', '.join(ALGORITHMS)}"
            )
        if not set(others) <= set(ALGORITHMS[first].contains):
            raise ConfigError(
                f"config: {key}.algorithms are {', '.join(sweep['algorithms'])}; expected one, "
                "or BCQ, BC, of which the first contains the other"
            )
        for algorithm in sweep["algorithms"]:
            if algorithm in trained:
                raise ConfigError(
                    f"config: {trained[algorithm]} and {key} both train {algorithm}; expected "
                    "it in one of them"
                )
            trained[algorithm] = key
    if not trained:
        raise ConfigError("config: rl.sweeps trains nothing; expected at least one sweep")

"""Checks of a config's section `rl` that a JSON schema cannot express, and its tasks."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from triptych.core.config import ConfigError
from triptych.core.errors import InputError
from triptych.rl.methods import ALGORITHMS, CRITERIA
from triptych.rl.tasks.sweep import DEFAULT, Run
from triptych.rl.tasks.task import PAPER, task_from

EXPERT = "expert"
"""The quality of the paper's data."""
TASK_KEYS = ("environment", "reference", "inputs", "options")
"""Keys of an entry that define the task."""
SOURCE_KEYS = {"path": "path", "quality": "d4rl", "dataset": "minari", "noise": "collected"}
"""Keys of an entry that only one source has."""
Config = Mapping[str, Any]
Tables = Mapping[str, Config]


def task_table(tables: Tables, name: str) -> dict[str, Any]:
    """The arguments of `task_from` for a task."""
    return {"name": name, **{key: tables[name][key] for key in TASK_KEYS if key in tables[name]}}


def data_source(table: Mapping[str, Any]) -> str:
    """Source of a task's data, with the quality unless it is the paper's."""
    quality = table.get("quality", EXPERT)
    return str(table["source"]) + ("" if quality == EXPERT else f" {quality}")


def d4rl_file(name: str, table: Mapping[str, Any]) -> str:
    """Name of D4RL's file of a task in resources/sources.yaml: "hopper_medium_replay-v2"."""
    paper_name = task_from(**task_table({name: table}, name)).paper or name
    return f"{paper_name}_{table.get('quality', EXPERT).replace('-', '_')}-v2"


def check_tasks(tables: Tables, d4rl_files: Collection[str]) -> None:
    """Raise ConfigError for the first task whose keys don't go together."""
    for name, table in tables.items():
        key, source = f"config: rl.tasks.{name}", table["source"]
        for source_key, expected_source in SOURCE_KEYS.items():
            if source_key in table and source != expected_source:
                raise ConfigError(
                    f"{key}.{source_key} belongs to source {expected_source}, but its source is "
                    f"{source}"
                )
        try:
            task_from(**task_table(tables, name))
        except InputError as error:
            raise ConfigError(str(error)) from error
        if source == "collected" and name not in PAPER:
            raise ConfigError(
                f"{key}.source is 'collected', and there are experts of {', '.join(PAPER)} alone"
            )
        if source == "d4rl" and (file := d4rl_file(name, table)) not in d4rl_files:
            known = ", ".join(sorted(d4rl_files))
            raise ConfigError(f"{key} asks for {file}; D4RL's files are {known}")
        low, high = table.get("reference", (0, 1))
        if not low < high:
            raise ConfigError(
                f"{key}.reference is {[low, high]}; expected the return that scores 0 and a larger "
                "one that scores 100"
            )


def check(config: Mapping[str, Any], runs: Sequence[Run], d4rl_files: Collection[str]) -> None:
    """Raise ConfigError naming the first key whose value contradicts others.

    config: the section `rl`. runs: of the stacks (`stacks_of`).
    """
    check_tasks(config["tasks"], d4rl_files)
    trained = {f"rl.sweeps.{name}": sweep for name, sweep in config["sweeps"].items()}
    for key, sweep in {**trained, "rl.mask_statistics": config["mask_statistics"]}.items():
        _check_sweep(config, key, sweep, key in trained)
    _check_algorithms(trained)
    shown = {"trained": False, "observations": config["observations"], "pruning": DEFAULT}
    shown["sparsity_percent"] = config["shown_sparsity"]
    if not any(shown.items() <= run.items() for run in runs):
        raise ConfigError(
            f"config: rl.mask_statistics.runs make no mask of {config['shown_sparsity']}% "
            f"(rl.shown_sparsity) on {config['observations']} observations; Figure 3 and Table 1 "
            "show it"
        )


def _check_sweep(config: Config, key: str, sweep: Config, is_trained: bool) -> None:
    """Raise ConfigError for unknown widths, methods or variants of the pruning."""
    if sweep["widths"] not in config["widths"]:
        raise ConfigError(
            f"config: {key}.widths is {sweep['widths']!r}; "
            f"allowed is a name from rl.widths: {', '.join(config['widths'])}"
        )
    # Masks that change in a training need one.
    allowed = [name for name, one in CRITERIA.items() if is_trained or not one.changes_masks]
    for part, runs in sweep["runs"].items():
        if unknown := sorted({*runs["methods"]} - {*allowed}):
            raise ConfigError(
                f"config: {key}.runs.{part}.methods names {', '.join(unknown)}; "
                f"allowed are {', '.join(allowed)}"
            )
        if "max_transitions" in runs and not is_trained:
            raise ConfigError(f"config: {key}.runs.{part} has max_transitions and trains nothing")
        if runs.get("pruning", DEFAULT) != DEFAULT:
            _check_variant(config, f"{key}.runs.{part}", runs)


def _check_variant(config: Config, key: str, runs: Config) -> None:
    """Raise ConfigError for a variant that is unknown or without effect."""
    variants, key = config["pruning"]["variants"], f"config: {key}.pruning is {runs['pruning']!r}"
    if runs["pruning"] not in variants:
        raise ConfigError(
            f"{key}; allowed is {DEFAULT} or a name from rl.pruning.variants: "
            f"{', '.join(variants) or 'there is none'}"
        )
    if without_data := [name for name in runs["methods"] if not CRITERIA[name].batch]:
        raise ConfigError(
            f"{key}, which changes nothing for {', '.join(without_data)}: their masks use no data"
        )


def _check_algorithms(sweeps: Tables) -> None:
    """Raise ConfigError for unknown algorithms, or one that two sweeps train.

    A score belongs to one set of widths, so each algorithm stands in one sweep. sweeps: by their
    keys in the config.
    """
    trained: dict[str, str] = {}
    for key, sweep in sweeps.items():
        first, *others = sweep["algorithms"]
        if unknown := [name for name in (first, *others) if name not in ALGORITHMS]:
            raise ConfigError(
                f"config: {key}.algorithms names {', '.join(unknown)}; allowed are "
                f"{', '.join(ALGORITHMS)}"
            )
        if not set(others) <= set(ALGORITHMS[first].contains):
            raise ConfigError(
                f"config: {key}.algorithms are {', '.join(sweep['algorithms'])}; expected one, "
                "or BCQ, BC, whose training contains BC's"
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

"""The section `rl.tasks` of a config: what each task is, and where its data come from."""

from collections.abc import Collection, Mapping
from typing import Any

from triptych.core.config import ConfigError
from triptych.core.errors import InputError
from triptych.rl.tasks import NORMALISED, PAPER, Task, task_from

EXPERT = "expert"
"""The quality of the paper's data."""
OF_TASK = ("environment", "reference", "inputs", "options", "bounds", "held_out")
OF_SOURCE = {"path": "path", "quality": "d4rl", "dataset": "minari"}
"""Keys of an entry: those that say what it is, and those that one source has."""
Tables = Mapping[str, Mapping[str, Any]]


def task_table(tables: Tables, name: str) -> dict[str, Any]:
    """What a task is, for `task_from`."""
    return {"name": name, **{key: tables[name][key] for key in OF_TASK if key in tables[name]}}


def tasks_of(tables: Tables) -> dict[str, Task]:
    """Each task by its name."""
    return {name: task_from(**task_table(tables, name)) for name in tables}


def units_of(tables: Tables) -> dict[str, str]:
    """What the scores of those tasks are that have no references."""
    units = {name: task.unit for name, task in tasks_of(tables).items()}
    return {name: unit for name, unit in units.items() if unit != NORMALISED}


def data_source(table: Mapping[str, Any]) -> str:
    """Where a task's data come from; D4RL's with their quality, unless that is the paper's."""
    quality = table.get("quality", EXPERT)
    return str(table["source"]) + ("" if quality == EXPERT else f" {quality}")


def with_quality(table: Mapping[str, Any], suffix: str) -> dict[str, Any]:
    """An entry whose data have the quality that a path names: "-medium"; as it is for ""."""
    return {**table, "quality": suffix.removeprefix("-")} if suffix else dict(table)


def d4rl_file(name: str, table: Mapping[str, Any]) -> str:
    """D4RL's file of a task, as resources/sources.yaml calls it: "hopper_medium_replay-v2"."""
    own = task_from(**task_table({name: table}, name)).paper or name
    return f"{own}_{table.get('quality', EXPERT).replace('-', '_')}-v2"


def check_tasks(tables: Tables, d4rl_files: Collection[str]) -> None:
    """Raises ConfigError for the first task whose keys don't go together."""
    for name, table in tables.items():
        key, source = f"config: rl.tasks.{name}", table["source"]
        for own, wanted in OF_SOURCE.items():
            if own in table and source != wanted:
                raise ConfigError(
                    f"{key}.{own} is of source {wanted}, and its source is {source}; expected one "
                    "or the other"
                )
        try:
            task_from(**task_table(tables, name))
        except InputError as error:
            raise ConfigError(str(error)) from error
        if source == "collected" and name not in PAPER:
            raise ConfigError(
                f"{key}.source is 'collected', and there are experts of {', '.join(PAPER)} alone; "
                "expected source path, d4rl or minari"
            )
        if source == "d4rl" and (file := d4rl_file(name, table)) not in d4rl_files:
            raise ConfigError(
                f"{key} asks for D4RL's {file}, and resources/sources.yaml has no such file; it "
                f"has {', '.join(sorted(d4rl_files))}"
            )
        low, high = table.get("reference", (0, 1))
        if not low < high:
            raise ConfigError(
                f"{key}.reference is {[low, high]}; expected the return that scores 0 and a larger "
                "one that scores 100"
            )

"""Labels, colours, dashes and markers of plots and tables of the offline-RL study.

A criterion's or algorithm's file may give its own (LABEL, COLOUR, DASH, MARKER); without, its
colour follows from its place among all methods.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from triptych.method_files import read_constants
from triptych.report.palette import label
from triptych.rl.methods import ALGORITHMS_FOLDER, CRITERIA_FOLDER, DENSE

# Okabe and Ito's palette, told apart by every common form of colour vision.
PALETTE = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#8a94a0")


@dataclass(frozen=True)
class Look:
    """Label and line of a method. dash: a line style of matplotlib."""

    label: str
    colour: str
    dash: Any = "solid"
    marker: str = "o"


def _looks(folder: Path) -> dict[str, Look]:
    """The look of each method of a folder, by its NAME or its file's name."""
    looks = {}
    for place, (file, constants) in enumerate(read_constants(folder).items()):
        name = constants.get("NAME", file)
        looks[name] = Look(
            label=constants.get("LABEL", name.capitalize().replace("_", " ")),
            colour=constants.get("COLOUR", PALETTE[place % len(PALETTE)]),
            dash=constants.get("DASH", "solid"),
            marker=constants.get("MARKER", "o"),
        )
    return looks


METHOD_LOOKS = {DENSE: Look("Dense", "#1f2933"), **_looks(CRITERIA_FOLDER)}
METHOD_LABELS = {name: look.label for name, look in METHOD_LOOKS.items()}
ALGORITHM_COLOURS = {name: look.colour for name, look in _looks(ALGORITHMS_FOLDER).items()}
"""In the order of tables and figures."""

ENOUGH_SEEDS = 3
"""Two bound nothing: intervals of hundreds of points, which tables and figures leave to the CSV."""
OBSERVATION_LABELS = {"raw": "raw observations", "normalised": "normalised observations"}
TASK_LABELS = {"hopper": "Hopper", "walker2d": "Walker2d", "halfcheetah": "HalfCheetah"}
NETWORK_LABELS = {"actor": "Actor", "critic": "Critic", "vae": "VAE"}

ALL_TASKS = "all tasks"
"""In place of a task where all tasks count together."""


def tasks_in_order(frame: pd.DataFrame) -> list[str]:
    """Names of the tasks: the paper's three in a fixed order, others by name, ALL_TASKS."""
    present = set(frame["task"])
    others = sorted(present - {*TASK_LABELS, ALL_TASKS})
    return [task for task in (*TASK_LABELS, *others, ALL_TASKS) if task in present]


def in_order(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Rows sorted by these columns; tasks, algorithms and methods in the order of tables."""
    orders = {"algorithm": [*ALGORITHM_COLOURS], "method": [*METHOD_LABELS]}
    orders["task"] = tasks_in_order(frame)

    def place(column: pd.Series) -> pd.Series:
        order = orders.get(str(column.name))
        return column.map(order.index) if order else column

    return frame.sort_values([*by], key=place, kind="stable")


def of_methods(frame: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Rows of these methods, and of dense runs."""
    return frame[frame["method"].isin([DENSE, *methods])]


def task_title(frame: pd.DataFrame, task: str) -> str:
    """Label of a task, with the quality of D4RL's data if it is not the paper's.

    frame: with the columns task and data.
    """
    sources = set(frame.loc[frame["task"] == task, "data"])
    return ", ".join([label(TASK_LABELS, task), *sorted(s for s in sources if "d4rl " in str(s))])


def task_unit(frame: pd.DataFrame, task: str) -> str:
    """Unit of a task's scores. frame: with the columns task and unit."""
    return str(frame.loc[frame["task"] == task, "unit"].iloc[0])

"""The tables of the offline-RL study, as pure functions of the rules' CSV files.

Each table has two functions: `x_long` computes the long frame, `x_table` lays it out.
The page lays out what it reads back from the long CSV, so that both show the same cells.
"""

from collections.abc import Mapping

import pandas as pd

from triptych.core.statistics import Interval
from triptych.report.palette import label
from triptych.report.tables import DASH, Table, as_printed, number, percent, with_cells
from triptych.rl.methods import CRITERIA
from triptych.rl.report.figures import task_title, tasks_in_order
from triptych.rl.report.labels import (
    ALGORITHM_COLOURS,
    METHOD_LABELS,
    NETWORK_LABELS,
    TASK_LABELS,
)
from triptych.rl.report.scores import aggregate_over_tasks, in_units, summarise_scores
from triptych.rl.tasks import ACTION_ERROR, NORMALISED

MEGABYTE = 1_000_000  # bytes; Table 1 fits decimal megabytes only

ALL_TASKS = "all tasks"
LESS_IS_BETTER = " Of an action error (docs/data.md) less is better, so a ratio above 1 is worse."
DIGITS = {ACTION_ERROR: 3}
"""Digits that a score is shown with, where they aren't one."""
ENOUGH_SEEDS = 3
"""Two bound nothing: intervals of hundreds of points, which tables leave to the CSV."""

# Table 1's published bytes fit these two tasks (equal shapes) and not Hopper.
PUBLISHED_TASKS = ("halfcheetah", "walker2d")


def table1_long(
    sizes: pd.DataFrame, published: pd.DataFrame, *, task: str, scale: str
) -> pd.DataFrame:
    """Table 1: megabytes (1e6 bytes) of the stored networks, mean over seeds.

    sizes: rows of sizes.csv at the paper's widths. published: method, actor_mb, critic_mb,
    vae_mb under the paper's row names. Rows without a published number (packed) are ours.
    A row that the experiment table doesn't measure has no value; criteria beyond the paper's have
    rows of their own.
    """
    rows = (
        ("Dense Model", "Dense Model", "dense", 0, "dense"),
        (
            "Dense Model Sparse Indexing",
            "Dense Model Sparse Indexing",
            "dense",
            0,
            "coo",
        ),
        ("GraSP (95% sparse)", "GraSP (95% sparse)", "grasp", 95, "coo"),
        ("SNIP (95% sparse)", "SNIP (95% sparse)", "snip", 95, "coo"),
        ("SNIP (95% sparse), packed fp32", None, "snip", 95, "packed_fp32"),
        ("SNIP (95% sparse), packed fp16", None, "snip", 95, "packed_fp16"),
        *(
            (f"{CRITERIA[name].label} (95% sparse)", None, name, 95, "coo")
            for name in CRITERIA
            if name not in ("snip", "grasp") and (sizes["method"] == name).any()
        ),
    )
    printed = published.set_index("method")
    cells = []
    for row, published_row, method, sparsity_percent, form in rows:
        for network in NETWORK_LABELS:
            chosen = sizes[
                (sizes["task"] == task)
                & (sizes["method"] == method)
                & (sizes["sparsity_percent"] == sparsity_percent)
                & (sizes["network"] == network)
                & (sizes["format"] == form)
            ]
            cells.append(
                {
                    "row": row,
                    "column": network,
                    "task": task,
                    "method": method,
                    "sparsity_percent": sparsity_percent,
                    "format": form,
                    "seeds": chosen["seed"].nunique(),
                    "value": chosen["bytes"].mean() / MEGABYTE,
                    "published": (
                        printed.at[published_row, f"{network}_mb"] if published_row else None
                    ),
                }
            )
    frame = pd.DataFrame(cells)
    frame["published"] = frame["published"].astype(float)
    return with_cells(frame, unit="MB", scale=scale)


def table1_table(long: pd.DataFrame) -> Table:
    """Lay out Table 1: published, ours and the difference for each network."""
    columns = [("", "Method")]
    for network in dict.fromkeys(long["column"]):
        name = label(NETWORK_LABELS, network)
        columns += [(name, "published"), (name, "ours"), (name, "difference")]
    rows = []
    for row, cells in long.groupby("row", sort=False):
        line = [str(row)]
        for _, cell in cells.iterrows():
            line += [
                as_printed(cell["published"]),
                number(cell["value"], 4),
                percent(cell["difference_percent"]),
            ]
        rows.append(tuple(line))
    first = long.iloc[0]
    return Table(
        name="rl_table1",
        title="Memory of the stored networks in megabytes.",
        caption=(
            f"{label(TASK_LABELS, first['task'])}, the paper's widths, mean over "
            f"{int(long['seeds'].max())} seeds; 1 MB = 1,000,000 bytes of the file written. "
            "The packed rows are this project's own format; the paper has none."
        ),
        columns=tuple(columns),
        rows=tuple(rows),
    )


def scores_long(
    runs: pd.DataFrame, *, sparsity_percent: int, scale: str, units: Mapping[str, str]
) -> pd.DataFrame:
    """Scores of the dense and of the pruned runs at one sparsity, each task and all tasks.

    units: those of the tasks whose scores aren't normalised, which are not among all tasks.

    Rows of ALL_TASKS hold the interquartile mean with an interval over seeds drawn within tasks and
    have no ratio to dense.
    """
    chosen = runs[(runs["sparsity_percent"] == sparsity_percent) | (runs["method"] == "dense")]
    if chosen.empty:
        raise ValueError(f"no run is dense or has {sparsity_percent}% sparsity")
    parts = [summarise_scores(chosen)]
    alike = chosen[~chosen["task"].isin(units)]
    if alike["task"].nunique() > 1:
        together = aggregate_over_tasks(alike)
        together.insert(0, "task", ALL_TASKS)
        parts.append(together[together["seeds"] > 0])
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    return in_units(with_cells(frame, unit=NORMALISED, scale=scale), units)


def scores_table(long: pd.DataFrame) -> Table:
    """Lay out the scores: a row an algorithm and method, columns the tasks."""
    methods = [name for name in METHOD_LABELS if (long["method"] == name).any()]
    together = (long["task"] == ALL_TASKS).any()
    of_tasks = long[long["task"] != ALL_TASKS]
    tasks, units = tasks_in_order(of_tasks), dict(zip(long["task"], long["unit"], strict=True))
    columns = [("", "Algorithm, method")]
    for task in tasks:
        name, unit = task_title(of_tasks, task), units[task]
        columns += [(name, "score" if unit == NORMALISED else unit), (name, "ratio to dense")]
    seeds_of = of_tasks.groupby("algorithm")["seeds"].max().astype(int)
    fewer = (of_tasks["seeds"] < of_tasks["algorithm"].map(seeds_of)).any()
    if together:
        columns.append(("All tasks", "interquartile mean"))
    rows = []
    for algorithm in [name for name in ALGORITHM_COLOURS if (long["algorithm"] == name).any()]:
        most = seeds_of[algorithm]
        for method in methods:
            cells = long[(long["algorithm"] == algorithm) & (long["method"] == method)]
            if cells.empty:
                continue
            line = [f"{algorithm}, {METHOD_LABELS[method]}"]
            for task in tasks:
                cell = cells[cells["task"] == task]
                text = interval_text(cell, ("value", "low", "high"), DIGITS.get(units[task], 1))
                seeds = most if cell.empty else int(cell["seeds"].iloc[0])
                line.append(text if seeds == most else f"{text} ({seeds} of {most} seeds)")
                ratio = ("ratio_to_dense", "ratio_low", "ratio_high")
                line.append(DASH if method == "dense" else interval_text(cell, ratio, 2))
            if together:
                cell = cells[cells["task"] == ALL_TASKS]
                line.append(interval_text(cell, ("value", "low", "high"), 1))
            rows.append(tuple(line))
    sparsity = f"{long['sparsity_percent'].max():g}"
    return Table(
        name="rl_scores",
        title=f"Scores at {sparsity}% sparsity.",
        caption=(
            "D4RL-normalised score, mean over seeds with its 95% interval ("
            + ", ".join(f"{algorithm}: {seeds} seeds" for algorithm, seeds in seeds_of.items())
            + f"; none is shown for fewer than {ENOUGH_SEEDS}); ratio to "
            "the dense runs, seeds paired. All tasks: interquartile mean over tasks and seeds, "
            "seeds drawn within tasks. The paper prints no scores."
            + (LESS_IS_BETTER if ACTION_ERROR in units.values() else "")
            + (" Runs that diverged have no score and are left out." if fewer else "")
        ),
        columns=tuple(columns),
        rows=tuple(rows),
    )


def interval_text(cell: pd.DataFrame, columns: tuple[str, str, str], digits: int) -> str:
    """Estimate and interval of a cell; the estimate alone where one seed gives no interval."""
    if cell.empty:
        return DASH
    estimate, low, high = (float(cell[column].iloc[0]) for column in columns)
    if pd.isna(estimate) or pd.isna(low) or cell["seeds"].iloc[0] < ENOUGH_SEEDS:
        return number(estimate, digits)
    return Interval(estimate, low, high).text(digits)


def sizes_long(sizes: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Figure 4's numbers: mean megabytes over seeds by task, method, sparsity, network, format."""
    key = ["task", "networks", "method", "sparsity_percent", "network", "format"]
    frame = sizes.groupby(key, as_index=False).agg(
        value=("bytes", "mean"), seeds=("seed", "nunique")
    )
    frame["value"] /= MEGABYTE
    printed = published.set_index("method")
    names = {
        ("dense", 0, "dense"): "Dense Model",
        ("dense", 0, "coo"): "Dense Model Sparse Indexing",
        ("grasp", 95, "coo"): "GraSP (95% sparse)",
        ("snip", 95, "coo"): "SNIP (95% sparse)",
    }
    melted = printed.melt(ignore_index=False, var_name="column", value_name="megabytes")
    lookup = melted.set_index("column", append=True)["megabytes"].to_dict()
    rows = zip(
        *(frame[c] for c in ("task", "method", "sparsity_percent", "format", "network")),
        strict=True,
    )
    frame["published"] = [
        lookup.get((names.get((method, sparsity, form)), f"{network}_mb"), float("nan"))
        if task in PUBLISHED_TASKS
        else float("nan")
        for task, method, sparsity, form, network in rows
    ]
    return with_cells(frame, unit="MB", scale=scale)

"""Beyond the paper: dense and pruned where data are few, as a figure and as a claim of ours.

Later work of the paper's first author (Sparse-Reg, arXiv 2506.17155) finds that sparsity
regularises offline RL where a task has few transitions.
"""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.claims import Finding
from triptych.report.statistics import difference_interval
from triptych.rl.report.figures import expert_line, score_panels
from triptych.rl.report.labels import METHOD_LABELS, METHOD_LOOKS
from triptych.rl.report.scores import run_scores, score_cells, summarise_scores

FEW = 10_000
"""The most transitions that the claim calls few."""
ALGORITHMS = ("TD3+BC", "IQL")
"""Those of the claim, as in that work."""
CELL = ["task", "algorithm", "trained_on", "method", "sparsity_percent"]


def small_scores(evaluations: pd.DataFrame) -> pd.DataFrame:
    """`run_scores` for each number of transitions. evaluations: with a column trained_on."""
    parts = [
        run_scores(rows).assign(trained_on=first)
        for first, rows in evaluations.groupby("trained_on")
    ]
    return pd.concat(parts, ignore_index=True)


def small_long(runs: pd.DataFrame, *, scale: str, units: Mapping[str, str]) -> pd.DataFrame:
    """Mean over seeds and its 95% interval: CELL, seeds, value, low, high, unit, scale.

    runs: as `small_scores` returns them. units: of the tasks whose scores aren't normalised.
    """
    parts = [
        summarise_scores(cells).assign(trained_on=count)
        for count, cells in runs.groupby("trained_on")
    ]
    long = pd.concat(parts).sort_values(CELL)[[*CELL, "seeds", "value", "low", "high"]]
    return score_cells(long, scale=scale, units=units)


def small_figure(long: pd.DataFrame, behaviour: pd.DataFrame) -> Figure:
    """Score against transitions: a column a task, a row an algorithm, a line a method.

    long: as `small_long` returns it. behaviour: task, score_normalised_mean of the policy that made
    the data. Bands are 95% intervals of the mean; a single seed has none.
    """

    counts = sorted(set(long["trained_on"]))

    def draw(axes: Axes, cells: pd.DataFrame, task: str, algorithm: str) -> None:
        expert_line(axes, behaviour, task)
        for method in (name for name in METHOD_LABELS if (cells["method"] == name).any()):
            line = cells[cells["method"] == method].sort_values("trained_on")
            level, colour = line["sparsity_percent"].iloc[0], METHOD_LOOKS[method].colour
            name = METHOD_LABELS[method] + (f" {level:g} %" if level else "")
            x = line["trained_on"]
            axes.plot(x, line["value"], "o-", color=colour, markersize=3.5, label=name)
            axes.fill_between(x, line["low"], line["high"], color=colour, alpha=0.13, linewidth=0)
        axes.set_xscale("log")
        axes.set_xticks(counts, [f"{count:,}" for count in counts], rotation=30, ha="right")
        axes.set_xticks([], minor=True)
        # Bands of two seeds would flatten all that the means show.
        axes.set_ylim(min(0.0, cells["value"].min()), 1.15 * max(5.0, cells["value"].max()))

    return score_panels(long, draw, "transitions", legend_columns=5)


def small_facts(runs: pd.DataFrame) -> set[str]:
    """Algorithm and task of the runs on few transitions, dense and by SNIP, of one seed or more.

    runs: algorithm, task, method, trained_on.
    """
    few = runs[(runs["trained_on"] <= FEW) & runs["method"].isin(["dense", "snip"])]
    both = few.groupby(["algorithm", "task"])["method"].nunique() == 2
    return {f"{algorithm} {task}" for algorithm, task in both.index[both]}


def sparsity_helps(runs: pd.DataFrame, sparsity: int) -> Finding:
    """Score by SNIP less dense, paired by seed, mean over tasks and numbers of transitions.

    sparsity: of the runs by SNIP, in percent.
    """
    found, measured, intervals = Finding(), [], []
    for algorithm in ALGORITHMS:
        few = runs[(runs["algorithm"] == algorithm) & (runs["trained_on"] <= FEW)]
        key = ["seed", "task", "trained_on"]
        both = few.pivot_table(index=key, columns="method", values="score").dropna()
        if both.empty:
            return Finding(obstacles=[f"{algorithm} was not run on few transitions"])
        dense, snip = (both[name].groupby("seed").mean() for name in ("dense", "snip"))
        gap = difference_interval(snip.to_numpy(), dense.to_numpy())
        measured.append(f"{algorithm} {gap.estimate:+.1f} (dense {dense.mean():.1f})")
        intervals.append(f"{algorithm} {gap.ends(1, '+')}")
        name, text = f"{algorithm} by SNIP", "score more than dense"
        found.require(gap.side(), f"{name} does not {text}", f"{name} does not clearly {text}")
    found.measured = (
        f"SNIP at {sparsity}% less dense, {FEW:,} transitions or fewer: {', '.join(measured)}"
    )
    found.interval = ", ".join(intervals)
    return found

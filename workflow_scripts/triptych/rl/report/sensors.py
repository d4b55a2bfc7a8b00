"""Weights kept by input, and scores on raw and on normalised observations."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import INK, STYLE, label, legend_below
from triptych.report.tables import Table, with_cells
from triptych.rl.methods import CONTROLS, DENSE, OBSERVATIONS
from triptych.rl.report.figures import expert_line, task_title, task_unit, tasks_in_order
from triptych.rl.report.labels import METHOD_LABELS, OBSERVATION_LABELS, TASK_LABELS
from triptych.rl.report.scores import score_cells

COLOURS = {"raw": "#d55e00", "normalised": "#0072b2"}
SHOWN = 24
"""Inputs in a panel; where a task has more, those that keep most of their weights."""
INPUT = ["task", "networks", "observations", "method", "sparsity_percent", "layer", "input", "name"]


def inputs_long(inputs: pd.DataFrame, *, sparsity_percent: float, scale: str) -> pd.DataFrame:
    """Weights kept by input at one sparsity, mean over seeds, and how many seeds cut it.

    inputs: rows of inputs.csv; a mask that two sweeps share, since they prune networks of the same
    widths and seed, counts once. Returns INPUT, weights, seeds, value (percent of the input's
    weights), least (fewest weights kept by any seed), cut (seeds that keep none).
    """
    chosen = inputs[inputs["sparsity_percent"] == sparsity_percent]
    chosen = chosen.drop_duplicates([*INPUT, "weights", "seed"])
    frame = chosen.assign(
        share=100 * chosen["kept"] / chosen["weights"], cut=chosen["kept"] == 0
    ).groupby([*INPUT, "weights"], as_index=False, sort=False)
    long = frame.agg(
        seeds=("seed", "nunique"),
        value=("share", "mean"),
        least=("kept", "min"),
        cut=("cut", "sum"),
    )
    return with_cells(long, unit="percent of the input's weights", scale=scale)


def sensing(inputs: pd.DataFrame) -> pd.DataFrame:
    """Rows of the layer that reads a policy's observations: the decoder's first, or the actor's."""
    decoding = inputs["networks"].isin(inputs.loc[inputs["layer"] == "vae.d1", "networks"])
    return inputs[inputs["layer"] == decoding.map({True: "vae.d1", False: "actor.l1"})]


def cut_table(long: pd.DataFrame) -> Table:
    """Lay out the inputs that a policy's first layer is cut off from (`sensing`).

    long: as `inputs_long` returns it.
    """
    of_layer = sensing(long)
    rows = []
    key = ["task", "networks", "observations", "method"]
    for names, cells in _of_criteria(of_layer).groupby(key, sort=False):
        task, networks, kind, method = map(str, names)
        seeds = int(cells["seeds"].max())
        always, ever = int((cells["cut"] == seeds).sum()), int((cells["cut"] > 0).sum())
        some = f", {ever - always} more by some" if ever > always else ""
        least = cells.sort_values("value").iloc[0]
        rows.append(
            (
                label(TASK_LABELS, task),
                networks,
                label(METHOD_LABELS, method),
                label(OBSERVATION_LABELS, kind),
                f"{least['name']}: {least['value']:.1f} %",
                f"{always} of {len(cells)} by all seeds{some}" if ever else "none",
            )
        )
    sparsity = long["sparsity_percent"].max()
    columns = ("Task", "Networks", "Method", "Sees", "Least kept", "Cut off")
    return Table(
        name="rl_inputs",
        title=f"What a policy senses at {sparsity:g}% sparsity.",
        caption=(
            "Of the decoder's first layer, which lets BC sense, or where there is no decoder the "
            "actor's: the input that keeps least of its weights, mean over seeds, and how many "
            "inputs are cut off."
        ),
        columns=tuple(("", name) for name in columns),
        rows=tuple(rows),
        keys=4,
    )


def _of_criteria(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of pruned runs, controls left out."""
    return frame[~frame["method"].isin([DENSE, *CONTROLS])]


def sensors_long(
    runs: pd.DataFrame,
    inputs: pd.DataFrame,
    *,
    algorithm: str,
    networks: str,
    scale: str,
    units: Mapping[str, str],
) -> pd.DataFrame:
    """Numbers of the figure: scores of the algorithm's runs, and weights kept by input (`sensing`).

    runs: as `run_scores` returns them, however observations are seen. inputs: as `inputs_long`
    returns it. networks: those the algorithm was trained with. units: of the tasks whose scores
    aren't normalised. Returns task, observations, method, sparsity_percent, seed (of scores), name
    and input (of weights), cut, value, unit.
    """
    level = inputs["sparsity_percent"].max()
    both = runs[(runs["algorithm"] == algorithm) & runs["sparsity_percent"].isin([0, level])]
    kinds = both.groupby("method")["observations"].nunique()
    compared = both[both["method"].isin(kinds.index[kinds == len(OBSERVATIONS)])]
    key = ["task", "observations", "method", "sparsity_percent"]
    scores = compared[[*key, "seed"]].assign(value=compared["score"])
    weights = sensing(inputs[inputs["networks"] == networks])
    weights = _of_criteria(weights)
    parts = [
        score_cells(scores, scale=scale, units=units),
        weights[[*key, "input", "name", "cut", "value", "unit", "scale"]],
    ]
    return pd.concat(parts, ignore_index=True)


def sensors_figure(long: pd.DataFrame, behaviour: pd.DataFrame) -> Figure:
    """Above, scores with raw and with normalised observations; below, what each mask senses.

    long: as `sensors_long` returns it. behaviour: task, score_normalised_mean of the policy that
    made the data.
    """
    scores, weights = long[long["name"].isna()], long[long["name"].notna()]
    tasks = tasks_in_order(scores)
    most = min(SHOWN, weights.groupby("task")["input"].max().max() + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.2 + 2.75 * len(tasks), 3.0 + 0.17 * most), layout="constrained")
        panels = figure.subplots(
            2, len(tasks), squeeze=False, gridspec_kw={"height_ratios": [1.9, 0.17 * most]}
        )
        for column, task in enumerate(tasks):
            above, below = panels[:, column]
            expert_line(above, behaviour, task)
            _scores_panel(above, scores[scores["task"] == task])
            above.set_title(task_title(scores, task))
            if column == 0 or task_unit(scores, task) != task_unit(scores, tasks[column - 1]):
                pruned = f"dense, and {scores['sparsity_percent'].max():g}% pruned"
                above.set_ylabel(f"{task_unit(scores, task)}\n{pruned}", color=INK)
            _inputs_panel(below, weights[weights["task"] == task])
        legend_below(figure, list(panels[0]), columns=3)
    return figure


def _scores_panel(axes: Axes, scores: pd.DataFrame) -> None:
    methods = [name for name in METHOD_LABELS if (scores["method"] == name).any()]
    for kind, aside in zip(OBSERVATIONS, (-0.16, 0.16), strict=True):
        of_kind = scores[scores["observations"] == kind]
        at = of_kind["method"].map(methods.index) + aside
        axes.plot(at, of_kind["value"], "o", color=COLOURS[kind], markersize=3, alpha=0.45)
        means = of_kind.groupby("method")["value"].mean()
        x = [methods.index(name) + aside for name in means.index]
        look: dict[str, Any] = {"width": 0.28, "color": COLOURS[kind], "alpha": 0.35}
        axes.bar(x, means, label=OBSERVATION_LABELS[kind], **look)
    names = [METHOD_LABELS[name].replace(" ", "\n") for name in methods]
    axes.set_xticks(range(len(methods)), names)
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=min(0.0, 1.05 * scores["value"].min()))  # with room for the dots


def _inputs_panel(axes: Axes, weights: pd.DataFrame) -> None:
    """A heat map: a row an input, a column a method and way of seeing; a cross where cut off."""
    columns = [
        (method, kind)
        for method in METHOD_LABELS
        for kind in OBSERVATIONS
        if ((weights["method"] == method) & (weights["observations"] == kind)).any()
    ]
    weight = weights.groupby(["input", "name"])["value"].sum().nlargest(SHOWN).sort_index()
    names = weight.index.get_level_values("name").tolist()
    if (every := weights["input"].nunique()) > SHOWN:
        axes.set_ylabel(f"the {SHOWN} of {every} inputs that keep most")
    cells = weights.set_index(["method", "observations", "name"])
    grid = np.array([[cells.loc[(*column, name), "value"] for column in columns] for name in names])
    shown = axes.imshow(np.sqrt(grid), aspect="auto", cmap="Greens", vmin=0, vmax=10)
    shown.set_zorder(0)
    for x, column in enumerate(columns):
        for y, name in enumerate(names):
            cut = cells.loc[(*column, name), "cut"] > 0
            look: dict[str, Any] = {"color": "white" if grid[y, x] > 45 else INK}
            look = {"color": "#b3261e", "fontweight": "bold"} if cut else look
            text = "cut" if cut else f"{grid[y, x]:.0f}"
            axes.text(x, y, text, ha="center", va="center", fontsize=6.4, **look)
    short = {"raw": "raw", "normalised": "norm."}
    labels = [f"{METHOD_LABELS[method]}\n{short[kind]}" for method, kind in columns]
    axes.set_xticks(range(len(columns)), labels)
    axes.set_yticks(range(len(names)), names, fontsize=6.6)
    axes.grid(visible=False)
    axes.set_xlabel("weights kept by input (%)")

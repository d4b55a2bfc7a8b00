"""What pruning leaves a policy to sense.

Above: scores of the same methods with raw and with normalised observations (bars: means; dots:
seeds). Below: percent of each input's weights that the masks keep in the decoder's first layer, by
which a policy of BC senses, mean over seeds; "cut" where some seed keeps none.
"""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import INK, in_lines, legend_below, styled, write_figure
from triptych.rl.methods import OBSERVATIONS
from triptych.rl.report.figures import expert_line
from triptych.rl.report.labels import (
    METHOD_LABELS,
    OBSERVATION_LABELS,
    task_title,
    task_unit,
    tasks_in_order,
)
from triptych.rl.report.masks import sensing
from triptych.rl.report.scores import (
    by_level,
    default_pruning,
    run_scores,
    score_cells,
    shown_level,
)

COLOURS = {"raw": "#d55e00", "normalised": "#0072b2"}
SHOWN = 24
"""Inputs in a panel; where a task has more, those that keep most of their weights."""


def numbers(
    scores: pd.DataFrame, inputs: pd.DataFrame, *, algorithm: str, networks: str
) -> pd.DataFrame:
    """Numbers of the figure: scores of the algorithm's runs, and weights kept by input (`sensing`).

    scores: of each run, as value with its unit and data, however observations are seen. inputs: as
    rl_inputs has it. networks: those the algorithm was trained with. Returns
    task, observations, method, sparsity_percent, seed (of scores), the columns of `score_cells`,
    and of weights input, name, cut.
    """
    level = inputs["sparsity_percent"].max()
    both = scores[(scores["algorithm"] == algorithm) & scores["sparsity_percent"].isin([0, level])]
    both = both[both.groupby("method")["observations"].transform("nunique") == len(OBSERVATIONS)]
    weights = sensing(inputs[inputs["networks"] == networks])
    key = ["task", "observations", "method", "sparsity_percent"]
    parts = [
        both.drop(columns=["pruning", "algorithm"]),
        weights[[*key, "input", "name", "cut", "value", "unit", "scale", "data"]],
    ]
    return pd.concat(parts, ignore_index=True)


@styled
def figure(long: pd.DataFrame, behaviour: pd.DataFrame) -> Figure:
    """Above, scores with raw and with normalised observations; below, what each mask senses.

    long: as `numbers` returns it. behaviour: task, score_normalised_mean of the policy that
    made the data.
    """
    scores, weights = long[long["name"].isna()], long[long["name"].notna()]
    tasks, unit = tasks_in_order(scores), ""
    most = min(SHOWN, weights.groupby("task")["input"].nunique().max())
    drawn = Figure(figsize=(1.2 + 2.75 * len(tasks), 3.0 + 0.17 * most), layout="constrained")
    panels = drawn.subplots(
        2, len(tasks), squeeze=False, gridspec_kw={"height_ratios": [1.9, 0.17 * most]}
    )
    for (above, below), task in zip(panels.T, tasks, strict=True):
        expert_line(above, behaviour, task)
        _scores_panel(above, scores[scores["task"] == task])
        above.set_title(in_lines(task_title(scores, task)))
        if unit != (unit := task_unit(scores, task)):
            pruned = f"dense, and {scores['sparsity_percent'].max():g}% pruned"
            above.set_ylabel(f"{in_lines(unit)}\n{pruned}")
        _inputs_panel(below, weights[weights["task"] == task])
    legend_below(drawn, list(panels[0]), columns=3)
    return drawn


def _scores_panel(axes: Axes, scores: pd.DataFrame) -> None:
    """Bars of the means and dots of the runs: a place a method, a colour a way of seeing."""
    methods = [name for name in METHOD_LABELS if (scores["method"] == name).any()]
    for kind, aside in zip(OBSERVATIONS, (-0.16, 0.16), strict=True):
        values = scores[scores["observations"] == kind].set_index("method")["value"]
        places = np.arange(len(methods)) + aside
        means = values.groupby("method").mean().reindex(methods)
        look: dict[str, Any] = {"width": 0.28, "color": COLOURS[kind], "alpha": 0.35}
        axes.bar(places, means, label=OBSERVATION_LABELS[kind], **look)
        at = places[[methods.index(name) for name in values.index]]
        axes.plot(at, values, "o", color=COLOURS[kind], markersize=3, alpha=0.45)
    axes.set_xticks(
        range(len(methods)), [METHOD_LABELS[name].replace(" ", "\n") for name in methods]
    )
    axes.set_ylim(bottom=min(0.0, 1.05 * scores["value"].min()))  # with room for the dots


def _inputs_panel(axes: Axes, weights: pd.DataFrame) -> None:
    """A heat map: a row an input, a column a method and way of seeing."""
    wide = weights.pivot(
        index=["input", "name"], columns=["method", "observations"], values=["value", "cut"]
    )
    kept = pd.DataFrame(wide["value"])
    kept = kept.loc[kept.sum(axis=1).nlargest(SHOWN).index].sort_index()
    columns = [column for column in product(METHOD_LABELS, OBSERVATIONS) if column in kept]
    kept = kept[columns]
    if len(wide) > SHOWN:
        axes.set_ylabel(f"the {SHOWN} of {len(wide)} inputs that keep most")
    shown = axes.imshow(np.sqrt(kept), aspect="auto", cmap="Greens", vmin=0, vmax=10)
    shown.set_zorder(0)
    cut = wide["cut"].loc[kept.index, kept.columns].to_numpy() > 0
    for (y, x), share in np.ndenumerate(kept.to_numpy()):
        look: dict[str, Any] = {"color": "white" if share > 45 else INK}
        look = {"color": "#b3261e", "fontweight": "bold"} if cut[y, x] else look
        text = "cut" if cut[y, x] else f"{share:.0f}"
        axes.text(x, y, text, ha="center", va="center", fontsize=6.4, **look)
    short = {"raw": "raw", "normalised": "norm."}
    labels = [f"{METHOD_LABELS[method]}\n{short[kind]}" for method, kind in columns]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(kept)), kept.index.get_level_values("name"), fontsize=6.6)
    axes.grid(visible=False)
    axes.set_xlabel("weights kept by input (%)")


if __name__ == "__main__":
    with job(snakemake):
        params, datasets = snakemake.params, read_frames(snakemake.input.datasets)
        scores = default_pruning(read_frames(snakemake.input.scores))
        runs = run_scores(scores).rename(columns={"score": "value"})
        runs = score_cells(runs, scores, datasets, scale=params.scale)
        inputs = pd.read_csv(snakemake.input.inputs)
        (inputs, *_) = by_level(inputs, shown_level(inputs, params.sparsity))
        long = numbers(runs, inputs, **params.sensing)
        write_figure(figure(long, datasets), long, snakemake.output)

"""Weights that masks keep by layer (Figure 3), and those by which a policy senses."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import MUTED, in_lines, label, legend_below, styled
from triptych.report.tables import with_cells
from triptych.rl.methods import CONTROLS, DENSE
from triptych.rl.report.labels import METHOD_LABELS, METHOD_LOOKS, TASK_LABELS, tasks_in_order

FLOOR = {"share": 0.03, "count": 0.5}
"""Left end of the axis, in percent or weights; a layer that keeps less, or nothing, lies on it."""

GROUP_LABELS = {"actor": "Actor", "critic": "Critic", "encoder": "Encoder", "decoder": "Decoder"}


@styled
def layers_figure(long: pd.DataFrame, by: str = "share") -> Figure:
    """Weights kept of each layer: a panel a task, a row a layer.

    long: as `layers_long` returns it. by: `share` of the layer's weights, or their `count`, which
    the paper's figure shows. A dot is the mean over seeds, its bar one standard deviation. A cross
    on the left edge marks a layer of which (nearly) nothing is kept.
    """
    if by == "count":
        long = long.assign(value=long["kept_mean"], deviation=long["kept_deviation"])
    tasks, order = tasks_in_order(long), [*GROUP_LABELS]
    layers = (
        long[["network", "group", "layer"]]
        .drop_duplicates()
        .sort_values("group", key=lambda groups: groups.map(order.index), kind="stable")
    )
    layers["place"] = np.arange(float(len(layers)))
    methods = [name for name in METHOD_LABELS if (long["method"] == name).any()]
    size = (1.6 + 2.75 * len(tasks), 1.1 + 0.29 * len(layers))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(tasks), sharex=True, sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        cells = long[long["task"] == task].merge(layers)
        _layer_panel(axes, cells, methods, by)
        for border in layers.groupby("group")["place"].min().drop(layers["group"].iloc[0]):
            axes.axhline(border - 0.5, color="#c5ccd3", linewidth=0.8)
        axes.set_title(in_lines(label(TASK_LABELS, task), 20))  # beside another
        axes.set_xlabel("share of the layer kept (%)" if by == "share" else "weights kept")
    names = layers["group"].map(GROUP_LABELS) + "  " + layers["layer"]
    panels[0].set_yticks(range(len(layers)), names)
    panels[0].set_ylim(len(layers) - 0.4, -0.6)
    legend_below(figure, list(panels), columns=6)
    return figure


def _layer_panel(axes: Axes, cells: pd.DataFrame, methods: list[str], by: str) -> None:
    """One task's layers. cells: rows of `layers_long` with the place of their layer."""
    rows, floor = cells.drop_duplicates("place"), FLOOR[by]
    even = 100 - cells["sparsity_percent"].max()
    at = np.full(len(rows), even) if by == "share" else rows["weights"] * even / 100
    name = f"even share, {even:g} %"
    axes.plot(at, rows["place"], "|", color=MUTED, markersize=9, label=name)
    for number, method in enumerate(methods):
        line, colour = cells[cells["method"] == method], METHOD_LOOKS[method].colour
        y = line["place"] + (number - (len(methods) - 1) / 2) * 0.3
        kept, deviation = line["value"], line["deviation"].fillna(0.0)
        there = kept >= floor
        ends = [kept - np.maximum(kept - deviation, floor), deviation]
        look: dict[str, Any] = {"markersize": 5, "elinewidth": 1.2, "capsize": 2, "zorder": 3}
        look |= {"fmt": METHOD_LOOKS[method].marker, "color": colour, "markeredgewidth": 0.9}
        axes.errorbar(
            kept[there],
            y[there],
            xerr=[end[there] for end in ends],
            label=METHOD_LABELS[method],
            **look,
        )
        for place in y[~there]:
            look = {"markersize": 5, "markeredgewidth": 1.4, "clip_on": False, "zorder": 4}
            axes.plot(floor, place, "x", color=colour, **look)
    note: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    note |= {"fontsize": 6.2, "color": "#7c8894", "ha": "right", "va": "center"}
    note["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for row in rows.itertuples():
        axes.annotate(f"{row.weights:,}", (1.0, row.place), (-2, 0), **note)
    small: dict[str, Any] = {"fontsize": 6.2, "fontweight": "normal", "color": "#7c8894"}
    axes.set_title("weights, dense", loc="right", **small)
    axes.set_xscale("log")
    axes.set_xlim(floor, 900 if by == "share" else 2e7)
    ticks = (0.1, 1, 10, 100) if by == "share" else (1, 100, 10_000, 1_000_000)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()


def layers_long(layers: pd.DataFrame, *, sparsity_percent: int, scale: str) -> pd.DataFrame:
    """Figure 3's numbers: weights kept by layer at one sparsity, mean and std over seeds.

    Returns task, networks, method, sparsity_percent, network, group, layer, weights, seeds,
    value (mean share kept, percent), deviation (sample standard deviation of it; nan for one
    seed), kept_mean, kept_deviation (weights).
    """
    chosen = layers[layers["sparsity_percent"] == sparsity_percent]
    key = ["task", "networks", "method", "sparsity_percent", "network", "group", "layer", "weights"]
    frame = chosen.assign(share=100 * chosen["kept"] / chosen["weights"])
    frame = frame.groupby(key, as_index=False, sort=False).agg(
        seeds=("seed", "nunique"),
        value=("share", "mean"),
        deviation=("share", "std"),
        kept_mean=("kept", "mean"),
        kept_deviation=("kept", "std"),
    )
    return with_cells(frame, unit="percent of the layer's weights", scale=scale)


def sensing(inputs: pd.DataFrame) -> pd.DataFrame:
    """Rows of criteria's masks of the layer that reads a policy's observations: the decoder's
    first, or where there is no decoder the actor's."""
    decoding = inputs["networks"].isin(inputs.loc[inputs["layer"] == "vae.d1", "networks"])
    of_layer = inputs["layer"] == decoding.map({True: "vae.d1", False: "actor.l1"})
    return inputs[of_layer & ~inputs["method"].isin([DENSE, *CONTROLS])]

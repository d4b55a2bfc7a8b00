"""Weights that masks keep by layer (Figure 3)."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import MUTED, STYLE, label, legend_below
from triptych.report.tables import with_cells
from triptych.rl.report.figures import tasks_in_order
from triptych.rl.report.labels import METHOD_LABELS, METHOD_LOOKS, TASK_LABELS

FLOOR = {"share": 0.03, "count": 0.5}
"""Left end of the axis, in percent or weights; a layer that keeps less, or nothing, lies on it."""

GROUP_LABELS = {"actor": "Actor", "critic": "Critic", "encoder": "Encoder", "decoder": "Decoder"}


def layers_figure(long: pd.DataFrame, by: str = "share") -> Figure:
    """Weights kept of each layer: a panel a task, a row a layer.

    long: as `layers_long` returns it. by: `share` of the layer's weights, or their `count`, which
    the paper's figure shows. A dot is the mean over seeds, its bar one standard deviation. A cross
    on the left edge marks a layer of which (nearly) nothing is kept.
    """
    if by == "count":
        long = long.assign(value=long["kept_mean"], deviation=long["kept_deviation"])
    tasks = tasks_in_order(long)
    order = {name: i for i, name in enumerate(GROUP_LABELS)}  # mask groups are kept together
    keys = dict.fromkeys(zip(long["network"], long["group"], long["layer"], strict=True))
    layers = sorted(keys, key=lambda key: order.get(key[1], len(order)))
    methods = [name for name in METHOD_LABELS if (long["method"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(1.6 + 2.75 * len(tasks), 1.1 + 0.29 * len(layers)), layout="constrained"
        )
        panels = figure.subplots(1, len(tasks), sharex=True, sharey=True, squeeze=False)[0]
        for axes, task in zip(panels, tasks, strict=True):
            _layer_panel(axes, long[long["task"] == task], layers, methods, by)
            axes.set_title(label(TASK_LABELS, task))
            axes.set_xlabel("share of the layer kept (%)" if by == "share" else "weights kept")
        names = [f"{label(GROUP_LABELS, group)}  {layer}" for _, group, layer in layers]
        panels[0].set_yticks(range(len(layers)), names)
        panels[0].set_ylim(len(layers) - 0.4, -0.6)
        legend_below(figure, list(panels), columns=6)
    return figure


def _layer_panel(
    axes: Axes, cells: pd.DataFrame, layers: list[tuple[str, str, str]], methods: list[str], by: str
) -> None:
    place = {(network, layer): float(i) for i, (network, _, layer) in enumerate(layers)}
    for i in range(1, len(layers)):
        if layers[i][1] != layers[i - 1][1]:
            axes.axhline(i - 0.5, color="#c5ccd3", linewidth=0.8)
    even_share = 100 - cells["sparsity_percent"].max()
    name = f"even share, {even_share:g} %"
    if by == "share":
        axes.axvline(even_share, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), label=name)
    else:
        layer_rows = cells.drop_duplicates(["network", "layer"])
        rows = [place[key] for key in zip(layer_rows["network"], layer_rows["layer"], strict=True)]
        axes.plot(
            layer_rows["weights"] * even_share / 100,
            rows,
            "|",
            color=MUTED,
            markersize=9,
            label=name,
        )
    for number, method in enumerate(methods):
        line = cells[cells["method"] == method]
        offset = (number - (len(methods) - 1) / 2) * 0.3
        at = [place[key] + offset for key in zip(line["network"], line["layer"], strict=True)]
        _dots(axes, line, np.array(at), method, FLOOR[by])
    note: dict[str, Any] = {"textcoords": "offset points", "ha": "right"}
    note |= {"fontsize": 6.2, "color": "#7c8894"}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    beside: Any = ("axes fraction", "data")
    dense = cells.groupby(["network", "layer"])["weights"].first().to_dict()
    for key, y in place.items():
        if key in dense:
            text = f"{int(dense[key]):,}"
            axes.annotate(text, (1.0, y), (-2, 0), xycoords=beside, va="center", bbox=box, **note)
    axes.annotate("weights, dense", (1.0, 1.0), (-2, 3), xycoords="axes fraction", **note)
    axes.set_xscale("log")
    axes.set_xlim(FLOOR[by], 900 if by == "share" else 2e7)
    ticks = (0.1, 1, 10, 100) if by == "share" else (1, 100, 10_000, 1_000_000)
    axes.set_xticks(ticks, [f"{tick:,g}" if tick < 1e5 else f"{tick:,.0f}" for tick in ticks])
    axes.minorticks_off()


def _dots(axes: Axes, line: pd.DataFrame, at: np.ndarray, method: str, floor: float) -> None:
    """A method's means and deviations at places `at`; crosses on the floor for (nearly) nothing."""
    share, deviation = line["value"].to_numpy(), line["deviation"].fillna(0.0).to_numpy()
    present, colour = share >= floor, METHOD_LOOKS[method].colour
    lower = share - np.maximum(share - deviation, floor)
    look: dict[str, Any] = {"markersize": 5, "elinewidth": 1.2, "capsize": 2, "zorder": 3}
    look |= {"fmt": METHOD_LOOKS[method].marker, "color": colour, "markeredgewidth": 0.9}
    ends = [lower[present], deviation[present]]
    name = label(METHOD_LABELS, method)
    axes.errorbar(share[present], at[present], xerr=ends, label=name, **look)
    if (~present).any():
        look = {"linestyle": "none", "marker": "x", "markersize": 5, "markeredgewidth": 1.4}
        x = np.full((~present).sum(), floor)
        axes.plot(x, at[~present], color=colour, clip_on=False, zorder=4, **look)


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

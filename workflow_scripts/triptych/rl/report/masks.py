"""What the masks leave: weights by layer (Figure 3), layers emptied, sparsity in effect."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import MUTED, STYLE, label, legend_below
from triptych.report.tables import DASH, Table, with_cells
from triptych.rl.pruning.methods import CONTROLS, METHODS, OBSERVATIONS
from triptych.rl.report.figures import tasks_in_order
from triptych.rl.report.labels import METHOD_COLOURS, METHOD_LABELS, NETWORK_LABELS, TASK_LABELS

FLOOR = {"share": 0.03, "count": 0.5}
"""Left end of the axis, in percent or weights; a layer that keeps less, or nothing, lies on it."""

GROUP_LABELS = {"actor": "Actor", "critic": "Critic", "encoder": "Encoder", "decoder": "Decoder"}


def layers_figure(long: pd.DataFrame, by: str = "share") -> Figure:
    """What survives of each layer's weights: a panel a task, a row a layer.

    long: as `layers_long` returns it. by: `share` of the layer's weights, or their `count`, which
    the paper's figure shows. A dot is the mean over seeds, its bar one standard deviation; the axis
    is logarithmic, because shares run from nothing to everything. A cross on the left edge marks a
    layer of which (nearly) nothing is kept. The faint numbers at the right are the layer's dense
    weights.
    """
    if by == "count":
        long = long.assign(value=long["kept_mean"], deviation=long["kept_deviation"])
    tasks = tasks_in_order(long)
    layers = _layers_in_order(long)
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


def _layers_in_order(long: pd.DataFrame) -> list[tuple[str, str, str]]:
    """(network, group, layer) in the order of the file, mask groups kept together."""
    order = {name: i for i, name in enumerate(GROUP_LABELS)}
    seen = dict.fromkeys(zip(long["network"], long["group"], long["layer"], strict=True))
    return sorted(seen, key=lambda key: order.get(key[1], len(order)))


def _layer_panel(
    axes: Axes, cells: pd.DataFrame, layers: list[tuple[str, str, str]], methods: list[str], by: str
) -> None:
    place = {(network, layer): float(i) for i, (network, _, layer) in enumerate(layers)}
    previous = None
    for i, (_, group, _) in enumerate(layers):
        if previous is not None and group != previous:
            axes.axhline(i - 0.5, color="#c5ccd3", linewidth=0.8)
        previous = group
    kept = 100 - cells["sparsity_percent"].max()
    name = f"even share, {kept:g} %"
    if by == "share":
        axes.axvline(kept, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), label=name)
    else:
        each = cells.drop_duplicates(["network", "layer"])
        rows = [place[key] for key in zip(each["network"], each["layer"], strict=True)]
        axes.plot(each["weights"] * kept / 100, rows, "|", color=MUTED, markersize=9, label=name)
    strong = [name for name in methods if name not in CONTROLS]
    for method in [*(name for name in methods if name in CONTROLS), *strong]:
        line = cells[cells["method"] == method]
        if line.empty:
            continue
        offset = (strong.index(method) - (len(strong) - 1) / 2) * 0.3 if method in strong else 0.0
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
    present, colour = share >= floor, METHOD_COLOURS[method]
    left = share - np.maximum(share - deviation, floor)
    look: dict[str, Any] = {"markersize": 5, "elinewidth": 1.2, "capsize": 2, "zorder": 3}
    if method in CONTROLS:
        look = {"markersize": 3.2, "elinewidth": 0, "capsize": 0, "zorder": 2}
        look["markerfacecolor"] = "white"
    look |= {"fmt": METHODS[method].marker, "color": colour, "markeredgewidth": 0.9}
    ends = [left[present], deviation[present]]
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
    if chosen.empty:
        raise ValueError(
            f"no mask has {sparsity_percent}% sparsity: {sorted(set(layers['sparsity_percent']))}"
        )
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


def emptied_table(layers: pd.DataFrame) -> Table:
    """Lay out the layers of which a mask kept nothing: a row for those of one kind of run that the
    same tasks empty together, with how many of the seeds do. Such layers are never silent.

    A network with an emptied layer passes no signal through it; its output is that of the
    biases behind.
    """
    empty = layers[layers["kept"] == 0]
    run = ["networks", "method", "sparsity_percent"]
    seeds = empty.groupby([*run, "network", "layer", "task"], sort=False)["seed"].nunique()
    long = seeds.reset_index()
    long["name"] = long["network"].map(NETWORK_LABELS).fillna(long["network"]) + " " + long["layer"]
    long["tasks"] = [
        f"{label(TASK_LABELS, task)} ({count})"
        for task, count in zip(long["task"], long["seed"], strict=True)
    ]
    joined = long.groupby([*run, "name"], sort=False)["tasks"].agg(", ".join).reset_index()
    grouped = joined.groupby([*run, "tasks"], sort=False)["name"].agg(", ".join).reset_index()
    rows = tuple(
        (str(networks), label(METHOD_LABELS, method), f"{level:g} %", str(names), str(tasks))
        for networks, method, level, tasks, names in grouped.itertuples(index=False, name=None)
    )
    headers = ("Networks", "Method", "Sparsity", "Layers", "Task (number of seeds)")
    return Table(
        name="rl_emptied_layers",
        title="Layers that a mask emptied.",
        caption=(
            "No weight of the layer survives, so that only biases pass it."
            if rows
            else "No mask of this run emptied a layer."
        ),
        columns=tuple(("", header) for header in headers),
        rows=rows,
        keys=len(headers),
    )


def paths_table(layers: pd.DataFrame) -> Table:
    """Lay out sparsity and effective sparsity: of weights kept, and of those on a path.

    layers: rows of layers.csv.
    """
    pruned = layers[layers["method"] != "dense"]
    run = ["networks", "observations", "method", "sparsity_percent"]
    sums = pruned.groupby([*run, "group"], sort=False)[["weights", "kept", "on_path"]].sum()
    share = 100 * (1 - sums[["kept", "on_path"]].div(sums["weights"], axis=0))
    groups = list(dict.fromkeys(pruned["group"]))
    rows = []
    for names, cells in share.reset_index().groupby(run, sort=False):
        networks, kind, method, _ = map(str, names)
        by_group = cells.set_index("group")
        rows.append(
            (
                networks,
                f"{label(METHOD_LABELS, method)}, {label(OBSERVATIONS, kind)}",
                f"{by_group['kept'].iloc[0]:.1f} %",
                *(
                    f"{by_group.loc[name, 'on_path']:.1f} %" if name in by_group.index else DASH
                    for name in groups
                ),
            )
        )
    columns = ("Networks", "Method", "Weights pruned", *(f"{name} in effect" for name in groups))
    return Table(
        name="rl_effective_sparsity",
        title="Sparsity in effect.",
        caption=(
            "A kept weight that lies on no path from an input to an output changes nothing that "
            "depends on what the policy sees. Without these weights the networks are sparser than "
            "their masks say; mean over tasks and seeds."
        ),
        columns=tuple(("", name) for name in columns),
        rows=tuple(rows),
        keys=2,
    )

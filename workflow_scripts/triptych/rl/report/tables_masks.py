"""What the masks keep: weights by layer (Figure 3's numbers) and the layers they emptied."""

import pandas as pd

from triptych.report.palette import label
from triptych.report.tables import Table, with_cells
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS


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
    key = [
        "task",
        "networks",
        "method",
        "sparsity_percent",
        "network",
        "group",
        "layer",
        "weights",
    ]
    frame = chosen.assign(share=100 * chosen["kept"] / chosen["weights"])
    frame = frame.groupby(key, as_index=False, sort=False).agg(
        seeds=("seed", "nunique"),
        value=("share", "mean"),
        deviation=("share", "std"),
        kept_mean=("kept", "mean"),
        kept_deviation=("kept", "std"),
    )
    return with_cells(frame, unit="percent of the layer's weights", scale=scale)


def emptied_long(layers: pd.DataFrame) -> pd.DataFrame:
    """Layers of which a mask kept nothing: networks, method, sparsity, layer, tasks.

    A network with an emptied layer passes no signal through it; its output is that of the
    biases behind. `tasks` says on which tasks, and with how many of the seeds. Such layers are
    listed, never silent.
    """
    empty = layers[layers["kept"] == 0]
    run = ["networks", "method", "sparsity_percent"]
    seeds = empty.groupby([*run, "network", "layer", "task"], sort=False)["seed"].nunique()
    tasks = seeds.reset_index()
    tasks["tasks"] = [
        f"{label(TASK_LABELS, task)} ({count})"
        for task, count in zip(tasks["task"], tasks["seed"], strict=True)
    ]
    joined = tasks.groupby([*run, "network", "layer"], sort=False)["tasks"].agg(", ".join)
    return joined.reset_index()


def emptied_table(layers: pd.DataFrame) -> Table:
    """Lay out the emptied layers: those of one kind of run that the same tasks empty together."""
    long = emptied_long(layers)
    long["name"] = [
        f"{label(NETWORK_LABELS, network)} {layer}"
        for network, layer in zip(long["network"], long["layer"], strict=True)
    ]
    key = ["networks", "method", "sparsity_percent", "tasks"]
    grouped = long.groupby(key, sort=False)["name"].agg(", ".join).reset_index()
    rows = tuple(
        (
            str(row["networks"]),
            label(METHOD_LABELS, row["method"]),
            f"{row['sparsity_percent']:g} %",
            str(row["name"]),
            str(row["tasks"]),
        )
        for _, row in grouped.iterrows()
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

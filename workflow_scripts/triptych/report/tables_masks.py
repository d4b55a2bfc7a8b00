"""What the masks keep: weights by layer (Figure 3's numbers) and the layers they emptied."""

import pandas as pd

from triptych.report.style import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS, label
from triptych.report.tables import Table, with_cells


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
    """Layers of which a mask kept nothing: task, networks, method, sparsity, layer, seeds.

    A network with an emptied layer passes no signal through it; its output is that of the
    biases behind. Such rows are listed, never silent.
    """
    key = [
        "task",
        "networks",
        "method",
        "sparsity_percent",
        "network",
        "layer",
        "weights",
    ]
    empty = layers[layers["kept"] == 0]
    grouped = empty.groupby(key)["seed"].agg(lambda seeds: " ".join(map(str, sorted(seeds))))
    return grouped.reset_index().rename(columns={"seed": "seeds"})


def emptied_table(layers: pd.DataFrame) -> Table:
    """Lay out the emptied layers."""
    rows = tuple(
        (
            label(TASK_LABELS, row["task"]),
            str(row["networks"]),
            label(METHOD_LABELS, row["method"]),
            f"{int(row['sparsity_percent'])} %",
            f"{label(NETWORK_LABELS, row['network'])} {row['layer']}",
            f"{int(row['weights']):,}",
            str(row["seeds"]),
        )
        for _, row in emptied_long(layers).iterrows()
    )
    headers = ("Task", "Networks", "Method", "Sparsity", "Layer", "Weights", "Seeds")
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

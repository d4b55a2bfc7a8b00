"""What storing the networks takes: Table 1 and Figure 4."""

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.report.tables import TIMES, Table, as_printed, number, percent, with_cells
from triptych.rl.pruning.methods import CRITERIA
from triptych.rl.report.labels import FORMAT_COLOURS, FORMAT_LABELS, NETWORK_LABELS, TASK_LABELS

MEGABYTE = 1_000_000  # bytes; Table 1 fits decimal megabytes only
# Table 1's published bytes fit these two tasks (equal shapes) and not Hopper.
PUBLISHED_TASKS = ("halfcheetah", "walker2d")


BREAK_EVEN_PERCENT = 80
"""Sparse indices take 20 bytes a weight kept (two int64 and a float32), dense takes 4."""


def memory_figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Megabytes of the stored file against sparsity: a panel a network, a line a format.

    long: as `sizes_long` returns it. Rings are the published numbers of Table 1. SNIP and
    GraSP keep the same number of weights; the line is the mean of the methods.
    """
    cells = long[long["task"] == task]
    if cells.empty:
        raise ValueError(f"no sizes of task {task}: {sorted(set(long['task']))}")
    networks = [name for name in NETWORK_LABELS if (cells["network"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 2.75 * len(networks), 3.4), layout="constrained")
        panels = figure.subplots(1, len(networks), sharex=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            _memory_panel(axes, cells[cells["network"] == network])
            axes.set_title(NETWORK_LABELS[network])
            axes.set_xlabel("weights pruned (%)")
        panels[0].set_ylabel(f"megabytes ({label(TASK_LABELS, task)})")
        legend_below(figure, list(panels), columns=5)
    return figure


def _memory_panel(axes: Axes, cells: pd.DataFrame) -> None:
    _annotations(axes, cells)
    for form, name in FORMAT_LABELS.items():
        line = (
            cells[cells["format"] == form]
            .groupby("sparsity_percent", as_index=False)["value"]
            .mean()
        )
        if line.empty:
            continue
        if form == "dense":
            # Zeros are stored like any other weight: one height at every sparsity.
            axes.axhline(
                line["value"].mean(), color=FORMAT_COLOURS[form], linewidth=1.8, label=name
            )
            continue
        axes.plot(
            line["sparsity_percent"],
            line["value"],
            color=FORMAT_COLOURS[form],
            linewidth=1.8 if form == "coo" else 1.5,
            marker="o" if form == "coo" else ".",
            markersize=4,
            label=name,
        )
    printed = cells[cells["published"].notna()]
    axes.plot(
        printed["sparsity_percent"],
        printed["published"],
        linestyle="none",
        marker="o",
        markersize=8.5,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.1,
        label="published",
        zorder=4,
        clip_on=False,
    )
    axes.set_xlim(-3, 100)
    axes.set_xticks([0, 20, 40, 60, 80, 95])
    axes.set_ylim(0, None)


def _annotations(axes: Axes, cells: pd.DataFrame) -> None:
    """Where sparse formats begin to pay, and how much they save in the end."""
    axes.axvline(BREAK_EVEN_PERCENT, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
    axes.annotate(
        f"break-even {BREAK_EVEN_PERCENT} %",
        (BREAK_EVEN_PERCENT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="top",
        fontsize=7,
        color=MUTED,
    )
    axes.annotate(
        _savings(cells),
        (BREAK_EVEN_PERCENT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-17, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=7,
        linespacing=1.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        zorder=1,
        color=INK,
    )


def _savings(cells: pd.DataFrame) -> str:
    """How many times smaller than dense each format is at the highest sparsity."""
    dense = cells.loc[cells["format"] == "dense", "value"].mean()
    top = cells["sparsity_percent"].max()
    means = cells[cells["sparsity_percent"] == top].groupby("format")["value"].mean()
    lines = [
        f"{name}: {dense / means[form]:.1f}{TIMES}"
        for form, name in FORMAT_LABELS.items()
        if form != "dense" and form in means
    ]
    return "\n".join([f"smaller than dense at {top} %", *lines])


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
        ("Dense Model Sparse Indexing", "Dense Model Sparse Indexing", "dense", 0, "coo"),
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

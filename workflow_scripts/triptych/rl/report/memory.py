"""Bytes of the stored networks: Table 1 and Figure 4."""

from collections.abc import Iterable
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triptych.report.palette import INK, MUTED, STYLE, label, legend_below
from triptych.report.tables import TIMES, Table, as_printed, number, percent, with_cells
from triptych.rl.methods import CONTROLS, DENSE
from triptych.rl.report.labels import (
    FORMAT_COLOURS,
    FORMAT_LABELS,
    METHOD_LABELS,
    NETWORK_LABELS,
    TASK_LABELS,
)

MEGABYTE = 1_000_000  # bytes; Table 1 fits decimal megabytes only
# Table 1's published bytes fit these two tasks (equal shapes) and not Hopper.
PUBLISHED_TASKS = ("halfcheetah", "walker2d")
CASE = ("method", "sparsity_percent", "format")
Case = tuple[str, float, str]
"""Values of CASE."""


def memory_figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Megabytes of the stored file against sparsity: a panel a network, a line a format.

    long: as `sizes_long` returns it. Rings are the published numbers of Table 1. Lines are means of
    the methods, which keep the same number of weights.
    """
    cells = long[long["task"] == task]
    networks = [name for name in NETWORK_LABELS if (cells["network"] == name).any()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 2.75 * len(networks), 3.4), layout="constrained")
        panels = figure.subplots(1, len(networks), sharex=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            _memory_panel(axes, cells[cells["network"] == network])
            axes.set_title(NETWORK_LABELS[network])
        panels[0].set_ylabel(f"megabytes ({label(TASK_LABELS, task)})")
        legend_below(figure, list(panels), columns=5)
    return figure


def _memory_panel(axes: Axes, cells: pd.DataFrame) -> None:
    """One network's lines; where sparse formats begin to pay, and how much they save in the end."""
    means = cells.groupby(["format", "sparsity_percent"])["value"].mean()
    dense, top = means["dense"].mean(), cells["sparsity_percent"].max()
    savings = [f"smaller than dense at {top} %"]
    for form, name in FORMAT_LABELS.items():
        if form == "dense":  # zeros are stored like any other weight
            axes.axhline(dense, color=FORMAT_COLOURS[form], linewidth=1.8, label=name)
            continue
        width, marker = (1.8, "o") if form == "coo" else (1.5, ".")
        look: dict[str, Any] = {"linewidth": width, "marker": marker, "markersize": 4}
        line = means[form]
        axes.plot(line.index, line, color=FORMAT_COLOURS[form], label=name, **look)
        if top in line:
            savings.append(f"{name}: {dense / line[top]:.1f}{TIMES}")
    even = break_even_percent(means["coo"], dense)
    at, place = (even or top, 0.97), {"xycoords": ("data", "axes fraction")}
    text: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "top"}
    text |= {"fontsize": 7, **place}
    if even:
        axes.axvline(even, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
        name = f"break-even {even:.0f} %"
        axes.annotate(name, at, xytext=(-4, 0), rotation=90, color=MUTED, **text)
    text |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 2}, "linespacing": 1.5}
    axes.annotate("\n".join(savings), at, xytext=(-17, 0), zorder=1, color=INK, **text)
    printed = cells[cells["published"].notna()]
    ring: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 8.5, "zorder": 4}
    ring |= {"markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 1.1}
    x, y = printed["sparsity_percent"], printed["published"]
    axes.plot(x, y, label="published", clip_on=False, **ring)
    axes.set_xlim(-3, 100)
    axes.set_xticks([0, 20, 40, 60, 80, top])
    axes.set_ylim(0, None)
    axes.set_xlabel("weights pruned (%)")


def break_even_percent(sparse: pd.Series, dense: float) -> float | None:
    """The sparsity from which the sparse file is smaller than the dense one; None if never.

    sparse: megabytes by percent of sparsity, which fall with it. Near 80% for large networks, as an
    index and value take 20 bytes (two int64 and a float32) where a dense weight takes 4.
    """
    if sparse.min() >= dense:
        return None
    falling = sparse.sort_index(ascending=False)
    return float(np.interp(dense, falling, falling.index.astype(float)))


def sizes_long(sizes: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Figure 4's numbers: mean megabytes over seeds by task, method, sparsity, network, format.

    sizes: rows of sizes.csv. published: CASE, network, published (megabytes), which are shown for
    the tasks whose networks have the sizes of the paper's bytes.
    """
    return _beside_published(_mean_megabytes(sizes), published, scale)


def _mean_megabytes(sizes: pd.DataFrame) -> pd.DataFrame:
    key = ["task", "networks", "method", "sparsity_percent", "network", "format"]
    files = sizes.groupby(key, as_index=False)
    means = files.agg(value=("bytes", "mean"), seeds=("seed", "nunique"))
    return means.assign(value=means["value"] / MEGABYTE)


def _beside_published(frame: pd.DataFrame, published: pd.DataFrame, scale: str) -> pd.DataFrame:
    printed = published[[*CASE, "network", "published"]]
    both = frame.merge(printed, how="left", on=[*CASE, "network"])
    both["published"] = both["published"].where(both["task"].isin(PUBLISHED_TASKS))
    return with_cells(both, unit="MB", scale=scale)


def table1_rows(methods: Iterable[str], sparsity: float) -> dict[str, Case]:
    """Rows of Table 1: the paper's, ours in the packed format, and other criteria that were
    measured."""
    rows: dict[str, Case] = {
        "Dense Model": (DENSE, 0, "dense"),
        "Dense Model Sparse Indexing": (DENSE, 0, "coo"),
    }
    others = [m for m in dict.fromkeys(methods) if m not in (DENSE, "grasp", "snip", *CONTROLS)]
    for method in ("grasp", "snip", *others):
        rows[f"{METHOD_LABELS[method]} ({sparsity:g}% sparse)"] = (method, sparsity, "coo")
    for values in ("fp32", "fp16"):
        name = f"{METHOD_LABELS['snip']} ({sparsity:g}% sparse), packed {values}"
        rows[name] = ("snip", sparsity, f"packed_{values}")
    return rows


def table1_long(
    sizes: pd.DataFrame, published: pd.DataFrame, *, task: str, sparsity: float, scale: str
) -> pd.DataFrame:
    """Table 1: `sizes_long` of a task in the table's rows; one that was not measured has no value.

    sparsity: percent, of the pruned rows.
    """
    of_task = sizes[sizes["task"] == task]
    rows = [(row, *case) for row, case in table1_rows(of_task["method"], sparsity).items()]
    frame = pd.DataFrame(rows, columns=["row", *CASE])
    frame = frame.merge(pd.DataFrame({"network": [*NETWORK_LABELS]}), how="cross")
    frame = frame.assign(task=task, networks=of_task["networks"].iloc[0])
    frame = frame.merge(_mean_megabytes(of_task), how="left").fillna({"seeds": 0})
    long = _beside_published(frame.astype({"seeds": int}), published, scale)
    return long.rename(columns={"network": "column"})


def table1_table(long: pd.DataFrame) -> Table:
    """Lay out Table 1: published, ours and the difference for each network."""
    texts = {
        "published": long["published"].map(as_printed),
        "ours": long["value"].map(lambda value: number(value, 4)),
        "difference": long["difference_percent"].map(percent),
    }
    named = long.assign(group=long["column"].map(NETWORK_LABELS))
    cells = [named.assign(header=header, cell=cell) for header, cell in texts.items()]
    first = long.iloc[0]
    return Table.spread(
        pd.concat(cells).sort_index(kind="stable"),
        {"row": "Method"},
        name="rl_table1",
        title="Memory of the stored networks in megabytes.",
        caption=(
            f"{label(TASK_LABELS, first['task'])}, {first['networks']} networks, mean over "
            f"{int(long['seeds'].max())} seeds; 1 MB = 1,000,000 bytes of the file written. "
            "The packed rows are this project's own format; the paper has none."
        ),
    )

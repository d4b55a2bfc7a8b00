"""Bytes of the stored networks: Table 1 and Figure 4."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from triptych.report.palette import INK, label, legend_below, styled
from triptych.report.tables import Table, as_printed, number, percent, with_cells
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


@styled
def memory_figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Megabytes of the stored file against sparsity: a panel a network, a line a format.

    long: as `sizes_long` returns it. Rings are the published numbers of Table 1. Lines are means of
    the methods, which keep the same number of weights.
    """
    of_task = long[long["task"] == task]
    networks = [name for name in NETWORK_LABELS if (of_task["network"] == name).any()]
    figure = Figure(figsize=(1.0 + 2.75 * len(networks), 3.4), layout="constrained")
    panels = figure.subplots(1, len(networks), sharex=True, squeeze=False)[0]
    for axes, network in zip(panels, networks, strict=True):
        cells = of_task[of_task["network"] == network]
        lines = cells.groupby(["format", "sparsity_percent"])["value"].mean()
        axes.axhline(  # zeros are stored like any other weight
            lines["dense"].mean(), color=FORMAT_COLOURS["dense"], linewidth=1.8, label="dense"
        )
        for form, width in {"coo": 1.8, "packed_fp32": 1.5, "packed_fp16": 1.5}.items():
            look: dict[str, Any] = {"linewidth": width, "marker": "o", "markersize": 2 * width}
            look |= {"color": FORMAT_COLOURS[form], "label": FORMAT_LABELS[form]}
            axes.plot(lines[form].index, lines[form], **look)
        printed = cells[cells["published"].notna()]
        ring: dict[str, Any] = {"markersize": 8.5, "markerfacecolor": "none", "clip_on": False}
        ring |= {"markeredgecolor": INK, "markeredgewidth": 1.1, "zorder": 4}
        if len(printed):  # an empty line that isn't clipped takes the room of all axes
            at = printed["sparsity_percent"]
            axes.plot(at, printed["published"], "o", label="published", **ring)
        axes.set_xlim(-3, 100)
        most = cells["sparsity_percent"].max()
        axes.set_xticks([*(tick for tick in (0, 20, 40, 60, 80) if tick < most - 8), most])
        axes.set_ylim(0, None)
        axes.set_xlabel("weights pruned (%)")
        axes.set_title(NETWORK_LABELS[network])
    panels[0].set_ylabel(f"megabytes ({label(TASK_LABELS, task)})")
    legend_below(figure, list(panels), columns=5)
    return figure


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
    same = {"sparsity_percent": frame["sparsity_percent"].dtype}
    printed = published[[*CASE, "network", "published"]].astype(same)
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
    frame = frame.astype({"sparsity_percent": of_task["sparsity_percent"].dtype})
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

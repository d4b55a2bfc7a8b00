"""Figure 4. Memory against sparsity.

Megabytes of the stored file against sparsity, at the paper's widths. Sparse indices
(`torch.to_sparse`, two 64-bit indices a weight) pay only beyond 80% sparsity, where 20 bytes a kept
weight meet 4 bytes a weight; the packed format (bit mask and values) pays at once. Rings: the
numbers published in Table 1.
"""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import INK, in_lines, label, legend_below, styled, write_figure
from triptych.rl.report.labels import NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.memory import beside_published, mean_megabytes
from triptych.rl.report.scores import with_observations

DENSE = "#0072b2"
FORMATS = {
    "coo": ("sparse indices (COO)", "#009e73", 1.8),
    "packed_fp32": ("packed, fp32", "#d55e00", 1.5),
    "packed_fp16": ("packed, fp16", "#e69f00", 1.5),
}
"""Label, colour and width of a line; the paper's Figure 4 draws dense in blue, sparse indices in
green."""


def numbers(sizes: pd.DataFrame, published: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Mean megabytes over seeds by task, method, sparsity, network, format.

    sizes: rows of sizes.csv. published: CASE, network, published (megabytes), which are shown for
    the tasks whose networks have the sizes of the paper's bytes.
    """
    return beside_published(mean_megabytes(sizes), published, scale)


@styled
def figure(long: pd.DataFrame, *, task: str) -> Figure:
    """Megabytes of the stored file against sparsity: a panel a network, a line a format.

    long: as `numbers` returns it. Rings are the published numbers of Table 1. Lines are means of
    the methods, which keep the same number of weights.
    """
    of_task = long[long["task"] == task]
    networks = [name for name in NETWORK_LABELS if (of_task["network"] == name).any()]
    drawn = Figure(figsize=(1.0 + 2.75 * len(networks), 3.4), layout="constrained")
    panels = drawn.subplots(1, len(networks), sharex=True, squeeze=False)[0]
    for axes, network in zip(panels, networks, strict=True):
        cells = of_task[of_task["network"] == network]
        lines = cells.groupby(["format", "sparsity_percent"])["value"].mean()
        axes.axhline(  # zeros are stored like any other weight
            lines["dense"].mean(), color=DENSE, linewidth=1.8, label="dense"
        )
        for form, (name, colour, width) in FORMATS.items():
            look: dict[str, Any] = {"linewidth": width, "marker": "o", "markersize": 2 * width}
            axes.plot(lines[form].index, lines[form], color=colour, label=name, **look)
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
    panels[0].set_ylabel(in_lines(f"megabytes ({label(TASK_LABELS, task)})"))
    legend_below(drawn, list(panels), columns=5)
    return drawn


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        sizes = with_observations(read_frames(snakemake.input.sizes), params.observations)
        long = numbers(sizes, pd.read_csv(snakemake.input.published), scale=params.scale)
        write_figure(figure(long, task=params.task), long, snakemake.output)

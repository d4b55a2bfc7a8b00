"""What a policy senses.

Of the decoder's first layer, which lets BC sense, or where there is no decoder the actor's: the
input that keeps least of its weights, mean over seeds, and how many inputs are cut off.
"""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import Table, plain, with_cells, write_table
from triptych.rl.report.labels import METHOD_LABELS, OBSERVATION_LABELS, TASK_LABELS
from triptych.rl.report.masks import sensing
from triptych.rl.report.scores import by_level, default_pruning, shown_level, with_sources

INPUT = ["task", "networks", "observations", "method", "sparsity_percent", "layer", "input", "name"]


def numbers(inputs: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """Weights kept by input, mean over seeds, and how many seeds cut it.

    inputs: rows of inputs.csv; a mask that two sweeps share, since they prune networks of the same
    widths and seed, counts once. Returns INPUT, weights, seeds, value (percent of the input's
    weights), least (fewest weights kept by any seed), cut (seeds that keep none).
    """
    chosen = inputs[inputs["sparsity_percent"] > 0]
    chosen = chosen.drop_duplicates([*INPUT, "weights", "seed"])
    frame = chosen.assign(
        share=100 * chosen["kept"] / chosen["weights"], cut=chosen["kept"] == 0
    ).groupby([*INPUT, "weights"], as_index=False, sort=False)
    long = frame.agg(
        seeds=("seed", "nunique"),
        value=("share", "mean"),
        least=("kept", "min"),
        cut=("cut", "sum"),
    )
    return with_cells(long, unit="percent of the input's weights", scale=scale)


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """The inputs that a policy's first layer is cut off from. long: rows of `numbers` of one
    sparsity."""
    rows = []
    key = ["task", "networks", "observations", "method"]
    for names, inputs in sensing(long).groupby(key, sort=False):
        task, networks, kind, method = map(str, names)
        always = (inputs["cut"] == inputs["seeds"].max()).sum()
        ever = (inputs["cut"] > 0).sum()
        some = f", {ever - always} more by some" if ever > always else ""
        least = inputs.iloc[int(inputs["value"].argmin())]
        row = (label(TASK_LABELS, task), networks, METHOD_LABELS[method], OBSERVATION_LABELS[kind])
        cut = f"{always} of {len(inputs)} by all seeds{some}" if ever else "none"
        rows.append((*row, f"{least['name']}: {least['value']:.1f} %", cut))
    return Table(
        columns=plain("Task", "Networks", "Method", "Sees", "Least kept", "Cut off"),
        rows=rows,
        keys=4,
        name="rl_inputs",
        title=title,
        caption=f"At {long['sparsity_percent'].max():g}% sparsity. {caption}",
    )


if __name__ == "__main__":
    with job(snakemake):
        params, datasets = snakemake.params, read_frames(snakemake.input.datasets)
        inputs = default_pruning(read_frames(snakemake.input.inputs))
        long = with_sources(numbers(inputs, scale=params.scale), datasets)
        shown, *others = (
            table(rows, params.title, params.caption)
            for rows in by_level(long, shown_level(inputs, params.sparsity))
        )
        write_table(long, shown, snakemake.output, others)

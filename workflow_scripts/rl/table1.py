"""Table 1. Megabytes of the stored networks.

1 MB = 1,000,000 bytes of the file written. The packed rows are this project's own format; the
paper has none.
"""

from collections.abc import Iterable

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import Table, as_printed, number, percent, write_table
from triptych.rl.methods import CONTROLS, DENSE
from triptych.rl.report.labels import METHOD_LABELS, NETWORK_LABELS, TASK_LABELS
from triptych.rl.report.memory import CASE, Case, beside_published, mean_megabytes
from triptych.rl.report.scores import with_observations


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


def numbers(
    sizes: pd.DataFrame, published: pd.DataFrame, *, task: str, sparsity: float, scale: str
) -> pd.DataFrame:
    """Megabytes of a task in the table's rows; one that was not measured has no value.

    sparsity: percent, of the pruned rows.
    """
    of_task = sizes[sizes["task"] == task]
    rows = [(row, *case) for row, case in table1_rows(of_task["method"], sparsity).items()]
    frame = pd.DataFrame(rows, columns=["row", *CASE])
    frame = frame.astype({"sparsity_percent": of_task["sparsity_percent"].dtype})
    frame = frame.merge(pd.DataFrame({"network": [*NETWORK_LABELS]}), how="cross")
    frame = frame.assign(task=task, networks=of_task["networks"].iloc[0])
    frame = frame.merge(mean_megabytes(of_task), how="left").fillna({"seeds": 0})
    long = beside_published(frame.astype({"seeds": int}), published, scale)
    return long.rename(columns={"network": "column"})


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """Published, ours and the difference for each network."""
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
        title=title,
        caption=(
            f"{label(TASK_LABELS, first['task'])}, {first['networks']} networks, mean over "
            f"{int(long['seeds'].max())} seeds; {caption}"
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        sizes = with_observations(read_frames(snakemake.input.sizes), params.observations)
        published = pd.read_csv(snakemake.input.published)
        long = numbers(
            sizes, published, task=params.task, sparsity=params.sparsity, scale=params.scale
        )
        write_table(long, table(long, params.title, params.caption), snakemake.output)

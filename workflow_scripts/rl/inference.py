"""Time to act and to train at {{ rl.latency.sparsity }}% sparsity.

Median microseconds a call on one thread; in brackets how many times as fast as the fastest dense
kernel of the same row. An update is one of training, of the kept weights alone beside all of the
dense twin. The paper states faster inference and training as a promise and measures neither.
"""

import pandas as pd

from triptych.core.job import job
from triptych.report.palette import label
from triptych.report.tables import TIMES, Table, number, plain, write_table
from triptych.rl.report.inference import latency_long, part_label
from triptych.rl.report.labels import TASK_LABELS


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """A row a case, a column a kernel. long: as `latency_long` returns it."""
    dense_first = sorted(dict.fromkeys(long["kernel"]), key=lambda name: "dense" not in name)
    first, cells = long.iloc[0], []
    for cell in long.to_dict("records"):
        row = (part_label(cell["part"], cell["candidates"]), f"{cell['batch']}", "")
        time = number(cell["value"], 1 if cell["value"] < 100 else 0)
        cells.append((*row, cell["kernel"], f"{time} ({number(cell['speedup'], 2)}{TIMES})"))
    return Table.spread(
        pd.DataFrame(cells, columns=["part", "batch", "group", "header", "cell"]),
        {"part": "Part", "batch": "Batch"},
        plain(*dense_first),
        name="rl_inference",
        title=title,
        caption=(
            f"{label(TASK_LABELS, first['task'])}, {first['networks']} widths. {caption} Outputs, "
            f"and an update's losses, differ by at most {long['maximum_difference'].max():.0e}."
        ),
    )


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        long = latency_long(pd.read_csv(snakemake.input.latency), scale=params.scale)
        write_table(long, table(long, params.title, params.caption), snakemake.output)

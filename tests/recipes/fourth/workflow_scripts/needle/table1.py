"""Table 1. Estimates of pi.

The last estimate of each seed.
"""

import numpy as np
import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import Table, number, plain, with_cells, write_table


def numbers(throws: pd.DataFrame, *, scale: str) -> pd.DataFrame:
    """The last estimate of each seed, beside pi."""
    last = throws.groupby("seed").tail(1)[["seed", "throws", "pi"]]
    return with_cells(
        last.rename(columns={"pi": "value"}).assign(published=np.pi), unit="1", scale=scale
    )


def table(long: pd.DataFrame, title: str, caption: str) -> Table:
    """A row for each seed."""
    rows = [(str(row.seed), number(row.value, 3)) for row in long.itertuples()]
    return Table("needle_table1", title, caption, plain("Seed", "Estimate"), rows)


if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        long = numbers(read_frames(snakemake.input.throws), scale=params.scale)
        write_table(long, table(long, params.title, params.caption), snakemake.output)

"""Table I: seconds an image by size, both versions, published beside ours."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.style.report.tables import table1_long, table1_table

with job(snakemake):
    params = snakemake.params
    long = table1_long(
        read_frames(snakemake.input.timing),
        pd.read_csv(snakemake.input.published),
        architectures=params.architectures,
        width=params.width,
        scale=params.scale,
    )
    write_table(long, table1_table(long), snakemake.output)

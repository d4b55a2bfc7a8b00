"""Images after which a network's training has paid, by size and backbone of Version 1."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.style.report.tables_beyond import breakeven_long, breakeven_table

with job(snakemake):
    long = breakeven_long(
        read_frames(snakemake.input.trained),
        snakemake.input.shipped,
        pd.read_csv(snakemake.input.table1),
        scale=snakemake.params.scale,
    )
    write_table(long, breakeven_table(long), snakemake.output)

"""Table 1: megabytes of the stored networks, published beside ours."""

from pathlib import Path

import pandas as pd

from triptych.core.job import job
from triptych.report.scores import read_frames
from triptych.report.tables import write_table
from triptych.report.tables_rl import table1_long, table1_table

with job(snakemake):
    long = table1_long(
        read_frames(snakemake.input.sizes),
        pd.read_csv(snakemake.input.published),
        task=snakemake.params.task,
        scale=snakemake.params.scale,
    )
    write_table(long, table1_table(long), Path(snakemake.output[0]).with_suffix(""))

"""Time to act, with dense and sparse kernels: a table."""

import pandas as pd

from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.rl.report.inference import latency_long, latency_table

with job(snakemake):
    long = latency_long(pd.read_csv(snakemake.input.latency), scale=snakemake.params.scale)
    write_table(long, latency_table(long), snakemake.output)

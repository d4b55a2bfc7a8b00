"""Time to act, with dense and sparse kernels: a figure and a table."""

from pathlib import Path

import pandas as pd

from triptych.core.job import job
from triptych.report.palette import save_figure
from triptych.report.tables import write_table
from triptych.rl.report.inference import latency_figure, latency_long, latency_table

with job(snakemake):
    task = snakemake.params.task
    long = latency_long(pd.read_csv(snakemake.input.latency), scale=snakemake.params.scale)
    svg, _, _, csv, *_ = snakemake.output
    save_figure(latency_figure(long, task=task), Path(svg).with_suffix(""))
    write_table(long, latency_table(long, task=task), Path(csv).with_suffix(""))

"""Time to act, with dense and sparse kernels and as deployed: a figure and two tables."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import save_figure
from triptych.report.tables import write_table
from triptych.rl.report.figures_storage import latency_figure
from triptych.rl.report.tables_deployed import deployed_long, deployed_table
from triptych.rl.report.tables_latency import latency_long, latency_table

with job(snakemake):
    task = snakemake.params.task
    long = latency_long(read_frames(snakemake.input.latency), scale=snakemake.params.scale)
    svg, _, _, csv, *_ = snakemake.output
    deployed = deployed_long(read_frames(snakemake.input.deployed), scale=snakemake.params.scale)
    save_figure(latency_figure(long, task=task), Path(svg).with_suffix(""))
    write_table(long, latency_table(long, task=task), Path(csv).with_suffix(""))
    base = Path(csv).with_name("rl_deployed")
    write_table(deployed, deployed_table(deployed), base)

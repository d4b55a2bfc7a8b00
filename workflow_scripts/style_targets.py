"""Seconds until Version 1 reaches a loss, by backbone and optimizer."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.scores import read_frames
from triptych.report.tables import write_table
from triptych.report.tables_style_times import targets_long, targets_table

with job(snakemake):
    long = targets_long(read_frames(snakemake.input.targets), scale=snakemake.params.scale)
    write_table(long, targets_table(long), Path(snakemake.output[0]).with_suffix(""))

"""Quality of every result of both versions, with intervals over images."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.scores import read_frames
from triptych.report.tables import write_table
from triptych.report.tables_style_beyond import quality_long, quality_table

with job(snakemake):
    long = quality_long(
        read_frames(snakemake.input.quality),
        read_frames(snakemake.input.stylised_runs),
        scale=snakemake.params.scale,
    )
    write_table(long, quality_table(long), Path(snakemake.output[0]).with_suffix(""))

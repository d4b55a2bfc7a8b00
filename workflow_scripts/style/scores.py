"""Quality of every result: structure, edges, texture and colours."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.style.report.tables import quality_long, quality_table

with job(snakemake):
    inputs = snakemake.input
    quality, stylised = read_frames(inputs.quality), read_frames(inputs.stylised_runs)
    scores = quality_long(quality, stylised, scale=snakemake.params.scale)
    write_table(scores, quality_table(scores), snakemake.output)

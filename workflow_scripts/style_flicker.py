"""Measure how much a stylised video flickers, relative to its source."""

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.style.video.flicker import flicker

with job(snakemake):
    table = flicker(snakemake.input.source, snakemake.input.frames)
    table.insert(0, "variant", snakemake.params.variant)
    table.insert(0, "painting", snakemake.params.painting)
    write_csv(table, snakemake.output[0])

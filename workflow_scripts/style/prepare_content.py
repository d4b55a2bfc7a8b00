"""Write a photograph as PNG, at its own size or cropped and scaled; a missing one stays missing."""

from pathlib import Path

from triptych.core.job import job
from triptych.style.data.images import read_image
from triptych.style.data.missing import missing_reason, write_missing
from triptych.style.data.prepare import write_content

with job(snakemake):
    source, params, path = snakemake.input[0], snakemake.params, snakemake.output[0]
    if reason := missing_reason(source):
        write_missing(path, Path(path).stem, reason)
    else:
        write_content(path, read_image(source), source, params.size)

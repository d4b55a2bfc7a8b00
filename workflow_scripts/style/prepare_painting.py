"""Check one style image and write it as PNG; a missing one stays missing."""

from pathlib import Path

from triptych.core.job import job
from triptych.style.data.missing import missing_reason, write_missing
from triptych.style.data.prepare import prepare_painting

with job(snakemake):
    source, path = snakemake.input[0], snakemake.output[0]
    if reason := missing_reason(source):
        write_missing(path, Path(path).stem, reason)
    else:
        prepare_painting(source, path, snakemake.params.longest)

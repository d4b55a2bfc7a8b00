"""Check one style image, downloaded or the user's own, and write it as PNG."""

from triptych.core.job import job
from triptych.style.data.prepare import prepare_painting

with job(snakemake):
    prepare_painting(snakemake.input[0], snakemake.output[0], snakemake.params.longest)

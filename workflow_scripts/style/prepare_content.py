"""Write a photograph of the user's own as PNG, at its own size or cropped and scaled."""

from triptych.core.job import job
from triptych.style.inputs.prepare import prepare_content

with job(snakemake):
    params = snakemake.params
    prepare_content(
        snakemake.output[0],
        source=snakemake.input[0],
        height=params.height,
        width=params.width,
    )

"""Write a photograph of the user's own as PNG, at its own size or cropped and scaled."""

from triptych.core.job import job
from triptych.style.data.images import read_image
from triptych.style.data.prepare import write_content

with job(snakemake):
    source, params = snakemake.input[0], snakemake.params
    write_content(snakemake.output[0], read_image(source), source, params.size)

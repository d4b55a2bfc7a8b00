"""Paint one of the generated style images."""

from triptych.core.job import job
from triptych.style.images import write_image
from triptych.style.paintings.paint import paint

with job(snakemake):
    params = snakemake.params
    height, width = params.size
    write_image(snakemake.output[0], paint(params.name, (height, width), params.seed))

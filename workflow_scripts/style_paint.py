"""Paint the generated style images."""

from pathlib import Path

from triptych.core.job import job
from triptych.style.images import write_image
from triptych.style.paintings.paint import paint

with job(snakemake):
    height, width = snakemake.params.size
    for path in snakemake.output:
        name = Path(path).stem
        write_image(path, paint(name, (height, width), snakemake.params.seeds[name]))

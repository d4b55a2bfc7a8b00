"""Paint the style images."""

from pathlib import Path

from PIL import Image

from makers.paintings.paint import paint
from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.style.data.image_files import bytes_of

with job(snakemake):
    height, width = snakemake.params.size
    for path in snakemake.output:
        pixels = paint(Path(path).stem, (height, width), snakemake.params.seed)
        with atomic_path(path) as temporary:
            Image.fromarray(bytes_of(pixels)).save(temporary, format="PNG", optimize=True)

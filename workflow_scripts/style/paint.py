"""Paint the generated style images."""

from pathlib import Path

from PIL import Image

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.demo.paintings.paint import paint
from triptych.style.image_files import bytes_of

with job(snakemake):
    height, width = snakemake.params.size
    for path in snakemake.output:
        name = Path(path).stem
        pixels = paint(name, (height, width), snakemake.params.seeds[name])
        with atomic_path(path) as temporary:
            Image.fromarray(bytes_of(pixels)).save(temporary, format="PNG")

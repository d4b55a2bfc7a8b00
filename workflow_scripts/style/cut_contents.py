"""Write what is to be stylised as PNG: bundled photographs, whole or cut, and landscapes."""

from PIL import Image

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.demo.landscape import landscape
from triptych.style.inputs.prepare import prepare_content

with job(snakemake):
    for path, content in zip(snakemake.output, snakemake.params.photographs, strict=True):
        height, width = content.get("size", (None, None))
        if content["source"] == "generated":
            pixels = landscape((height, width), content["seed"])
            with atomic_path(path) as temporary:
                Image.fromarray(pixels).save(temporary, format="PNG")
        else:
            photograph = content.get("photograph", content["name"])
            prepare_content(path, name=photograph, height=height, width=width)

"""Write what is to be stylised as PNG: bundled photographs, whole or cut, and landscapes."""

from PIL import Image

from triptych.core.files import atomic_path
from triptych.core.job import job
from triptych.demo.landscape import landscape
from triptych.style.data.prepare import bundled, write_content

with job(snakemake):
    for path, content in zip(snakemake.output, snakemake.params.photographs, strict=True):
        if content["source"] == "generated":
            pixels = landscape(content["size"], content["seed"])
            with atomic_path(path) as temporary:
                Image.fromarray(pixels).save(temporary, format="PNG")
        else:
            name = content.get("photograph", content["name"])
            write_content(path, bundled(name), name, content.get("size"))

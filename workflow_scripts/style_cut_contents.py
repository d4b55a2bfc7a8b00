"""Write bundled photographs as PNG, at their own sizes or cropped and scaled."""

from triptych.core.job import job
from triptych.style.inputs.prepare import prepare_content

with job(snakemake):
    for path, content in zip(snakemake.output, snakemake.params.photographs, strict=True):
        height, width = content.get("size", (None, None))
        photograph = content.get("photograph", content["name"])
        prepare_content(path, name=photograph, height=height, width=width)

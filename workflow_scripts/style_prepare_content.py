"""Write one photograph as PNG, at its own size or cropped and scaled: a bundled one or a file."""

from triptych.core.job import job
from triptych.style.inputs.prepare import prepare_content

with job(snakemake):
    params = snakemake.params
    prepare_content(
        snakemake.output[0],
        source=snakemake.input[0] if len(snakemake.input) else None,
        name=params.photograph,
        height=params.height,
        width=params.width,
    )

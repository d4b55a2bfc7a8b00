"""Make a text model: fetched from the hub, or small and from scratch with its own tokenizer."""

from triptych.audio.models.text_making import write_text_model
from triptych.core.job import job

with job(snakemake):
    files = snakemake.input
    write_text_model(
        snakemake.output[0], snakemake.params.settings, files.captions, files.manifest or None
    )

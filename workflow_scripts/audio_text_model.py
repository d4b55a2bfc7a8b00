"""Make a text model: fetched from the hub and checked, or small, with its own tokenizer."""

from triptych.audio.models.text_hub import write_text_model
from triptych.core.job import job

with job(snakemake):
    files, settings = snakemake.input, snakemake.params.settings
    write_text_model(snakemake.output[0], settings, files.captions, files.manifest or None)
    if settings["source"] == "hub":
        from triptych.audio.models.sentences import check_with_library

        check_with_library(snakemake.output[0])

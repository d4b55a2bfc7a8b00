"""Fetch a retrieval model that others published, and keep it as a model of ours."""

from triptych.audio.models.published import download_checkpoint
from triptych.audio.models.settings import ModelSettings
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    download_checkpoint(
        params.urls,
        snakemake.output[0],
        ModelSettings.from_config(params.audio_model, params.model),
        snakemake.input.text,
        params.locks,
    )

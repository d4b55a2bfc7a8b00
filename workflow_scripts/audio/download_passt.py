"""Fetch a published checkpoint of PaSST, check its tensors and keep them as safetensors."""

from triptych.audio.models.model_files import download_passt
from triptych.core.job import job

with job(snakemake):
    download_passt(
        snakemake.params.url,
        snakemake.output[0],
        snakemake.params.variant,
        size=snakemake.params.size,
        sha256=snakemake.params.sha256,
        lock=snakemake.params.lock,
    )

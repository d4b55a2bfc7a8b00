"""Fetch a published checkpoint of PaSST, check its tensors and keep them as safetensors."""

from triptych.audio.models.passt_files import download_passt
from triptych.core.job import job, settings

with job(snakemake):
    download_passt(path=snakemake.output[0], **settings(snakemake))

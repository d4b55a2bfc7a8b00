"""Fetch one file of resources/sources.yaml, checked by size and SHA-256."""

from triptych.core.download import download
from triptych.core.job import job, settings

with job(snakemake):
    download(path=snakemake.output[0], **settings(snakemake))

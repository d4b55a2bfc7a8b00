"""Fetch one file of resources/sources.yaml, checked by size and SHA-256."""

from triptych.core.download import download
from triptych.core.job import job

with job(snakemake):
    download(
        snakemake.params.url,
        snakemake.output[0],
        size=snakemake.params.size,
        sha256=snakemake.params.sha256,
        lock=snakemake.params.lock,
        mirrors=snakemake.params.mirrors,
    )

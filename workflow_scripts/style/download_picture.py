"""Fetch one picture from Wikimedia Commons; its checksum is recorded at the first time."""

from triptych.core.job import job
from triptych.style.data.wikimedia import download_picture

with job(snakemake):
    download_picture(
        snakemake.params.url,
        snakemake.output[0],
        snakemake.params.contact,
        size=snakemake.params.size,
        sha256=snakemake.params.sha256,
        lock=snakemake.params.lock,
    )

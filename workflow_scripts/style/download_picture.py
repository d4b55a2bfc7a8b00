"""Fetch one picture from Wikimedia Commons; its checksum is recorded at the first time."""

from triptych.core.job import job, settings
from triptych.style.data.wikimedia import download_picture

with job(snakemake):
    download_picture(path=snakemake.output[0], **settings(snakemake))

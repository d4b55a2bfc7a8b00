"""Fetch one file of the audio study's sources, checked; a first download records its checksum."""

from triptych.core.download import download
from triptych.core.job import job, settings

with job(snakemake):
    download(path=snakemake.output[0], **settings(snakemake))

"""Fetch one file of the audio study's sources, checked; a first download records its checksum."""

from triptych.core.download import download
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    download(
        params.url,
        snakemake.output[0],
        size=params.size,
        md5=params.md5,
        sha256=params.sha256,
        mirrors=params.mirrors,
        lock=params.lock,
    )

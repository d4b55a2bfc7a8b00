"""Fetch one part of WavCaps' recordings: all archives that the hub lists for it."""

from triptych.audio.data.hub_archives import download_part
from triptych.core.job import job

with job(snakemake):
    params = snakemake.params
    download_part(
        params.repository,
        params.revision,
        params.part,
        snakemake.output[0],
        params.checkpoint,
        parts=params.parts,
    )

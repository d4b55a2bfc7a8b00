"""Fetch AudioCaps' sound from YouTube by yt-dlp, going on where an earlier attempt ended."""

from triptych.audio.data.fetching import fetch_youtube, read_excerpts
from triptych.core.job import job

with job(snakemake):
    fetch_youtube(
        read_excerpts(snakemake.input.tables),
        snakemake.output[0],
        snakemake.params.checkpoint,
        connections=snakemake.threads,
    )

"""Fetch one file of the audio study's sources, checked; a first download records its checksum."""

from pathlib import Path

from triptych.audio.inputs import WITHOUT
from triptych.core.download import DownloadError, download
from triptych.core.job import job, settings

with job(snakemake):
    try:
        download(path=snakemake.output[0], **settings(snakemake))
    except DownloadError as error:
        name = Path(snakemake.output[0]).name
        advice = [text for start, text in WITHOUT.items() if name.startswith(start)]
        raise DownloadError("\n".join([str(error), *advice])) from error

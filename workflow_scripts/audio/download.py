"""Fetch one file of the audio study's sources, checked; a first download records its checksum."""

from pathlib import Path

from triptych.audio.inputs import advice_if_missing
from triptych.core.download import DownloadError, download
from triptych.core.job import job, settings

with job(snakemake):
    try:
        download(path=snakemake.output[0], **settings(snakemake))
    except DownloadError as error:
        advice = advice_if_missing(Path(snakemake.output[0]).name)
        raise DownloadError(f"{error}\n{advice}".strip()) from error

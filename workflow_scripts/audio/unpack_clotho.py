"""Unpack one of Clotho's 7z archives, whole or not at all."""

from triptych.audio.data.archives import unpack
from triptych.core.job import job

with job(snakemake):
    unpack(snakemake.input.archive, snakemake.output[0], files=snakemake.params.files)

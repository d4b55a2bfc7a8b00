"""Unpack the archive of a data set's recordings, or its parts, whole or not at all."""

from triptych.audio.data.archives import unpack
from triptych.core.job import job

with job(snakemake):
    unpack(list(snakemake.input.archives), snakemake.output[0], files=snakemake.params.files)

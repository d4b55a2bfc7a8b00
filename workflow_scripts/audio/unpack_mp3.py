"""Unpack the MP3 copy of a large data set, whole or not at all."""

from triptych.audio.data.archives import unpack
from triptych.core.job import job

with job(snakemake):
    unpack(list(snakemake.input.archives), snakemake.output[0])

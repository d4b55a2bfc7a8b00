"""Make the demo's audio data: sound scenes with captions, in the layouts of the real sources."""

from triptych.audio.scenes.catalogue import Settings
from triptych.audio.scenes.synthesis import synthesise
from triptych.core.job import job

with job(snakemake):
    synthesise(Settings(**snakemake.params.settings), snakemake.output[0], snakemake.threads)

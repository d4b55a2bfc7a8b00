"""Make the demo's audio data: sound scenes with captions, in the layouts of the real sources."""

from triptych.core.job import job
from triptych.demo.scenes.catalogue import Settings
from triptych.demo.scenes.synthesis import synthesise

with job(snakemake):
    synthesise(Settings(**snakemake.params.settings), snakemake.output[0], snakemake.threads)

"""Train one task's expert and measure it."""

from makers.experts import ppo, td3
from triptych.core.job import job

with job(snakemake):
    settings = dict(snakemake.params.settings)
    algorithm = {"ppo": ppo, "td3": td3}[settings.pop("algorithm")]
    algorithm.train_expert(snakemake.params.task, algorithm.Settings(**settings), *snakemake.output)

"""Train one task's expert and measure it."""

from makers.experts import ppo, td3
from triptych.core.job import job

with job(snakemake):
    task, settings = snakemake.params.task, dict(snakemake.params.settings)
    paths = snakemake.output.policy, snakemake.output.record
    algorithm = settings.pop("algorithm")
    if algorithm == "ppo":
        ppo.train_expert(task, ppo.PpoSettings(**settings), *paths)
    else:
        td3.train_expert(task, td3.Td3Settings(**settings), *paths)

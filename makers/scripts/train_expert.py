"""Train one task's expert by proximal policy optimisation and measure it."""

from makers.experts.ppo import PpoSettings, train_expert
from triptych.core.job import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    train_expert(params.task, PpoSettings(**params.settings), output.policy, output.record)

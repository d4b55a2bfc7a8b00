"""Train one task's expert by proximal policy optimisation and measure it."""

from makers.experts.ppo import PpoSettings, train_expert
from triptych.core.checkpoint import Checkpoint
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit

with job(snakemake):
    params = snakemake.params
    train_expert(
        params.task,
        PpoSettings(**params.settings),
        snakemake.output.policy,
        snakemake.output.record,
        Checkpoint(params.checkpoint, fingerprint(dict(params.items()), snakemake.input)),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )

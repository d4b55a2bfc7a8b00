"""Train one task's expert, a linear policy, by augmented random search and measure it."""

from triptych.core.checkpoint import Checkpoint
from triptych.core.job import job
from triptych.core.provenance import fingerprint
from triptych.core.stopping import StopRequest, scheduler_limit
from triptych.rl.random_search import ArsSettings, train_expert

with job(snakemake):
    params = snakemake.params
    train_expert(
        params.task,
        ArsSettings(**params.settings | {"seeds": tuple(params.settings["seeds"])}),
        snakemake.output[0],
        Checkpoint(params.checkpoint, fingerprint(dict(params.items()), snakemake.input)),
        StopRequest(scheduler_limit(snakemake.resources.get("runtime"))),
    )

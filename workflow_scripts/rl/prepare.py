"""Check one HDF5 file in D4RL's layout and turn it into transitions and a one-row summary."""

from triptych.core.job import job
from triptych.rl.tasks.preparing import prepare
from triptych.rl.tasks.task import task_from

with job(snakemake):
    prepare(
        snakemake.input[0],
        task_from(**snakemake.params.task),
        snakemake.params.source,
        snakemake.output.transitions,
        snakemake.output.dataset,
        snakemake.params.d4rl_digests,
        snakemake.params.get("accepted", ()),
    )

"""Record a noisy expert's episodes in MuJoCo in D4RL's layout; turn them into transitions."""

from triptych.core.job import job
from triptych.demo.collection import collect
from triptych.rl.tasks.preparing import prepare
from triptych.rl.tasks.task import task_named

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    collect(
        params.task,
        snakemake.input.expert,
        output.recorded,
        transitions=params.collect["transitions"],
        sigma=params.collect["noise"],
        seed=params.collect["seed"],
    )
    task = task_named(params.task)
    prepare(output.recorded, task, "collected", output.transitions, output.dataset)

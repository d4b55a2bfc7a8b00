"""Time how fast a pruned policy acts: in each kernel, and trained ones as they are exported.

Training moves no zeros, so that the kernels need none.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy loads

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.rl.algorithms.registry import Widths
from triptych.rl.deployed import deployed_table
from triptych.rl.evaluation import EvaluationSettings
from triptych.rl.inference import ActingSettings
from triptych.rl.latency import latency_table, pruned_policy
from triptych.rl.stored_policy import read_policy
from triptych.rl.tasks import task_from
from triptych.rl.transitions import read_transitions

with job(snakemake):
    params = snakemake.params
    stored = read_transitions(snakemake.input.transitions)
    policy = pruned_policy(
        snakemake.input.masks[0],
        params.runs,
        params.run,
        Widths.from_table(params.widths),
        stored.observations.shape[1],
        stored.actions.shape[1],
    )
    table = latency_table(
        policy,
        ActingSettings(**params.acting),
        stored.observations,
        batches=params.batches,
        repeats=params.repeats,
    )
    for column in ("seed", "sparsity_percent", "method", "task"):
        table.insert(0, column, params.run[column])
    table.insert(1, "networks", params.networks)
    write_csv(table, snakemake.output.latency)

    trained = zip(snakemake.input.policies, params.deployed, strict=True)
    table = deployed_table(
        [read_policy(Path(file), run) for file, run in trained],
        stored.observations,
        EvaluationSettings(
            **params.evaluation, task=task_from(**params.task), held_out=stored.held_out
        ),
        params.repeats,
    )
    table.insert(1, "networks", params.deployed_networks)
    write_csv(table, snakemake.output.deployed)

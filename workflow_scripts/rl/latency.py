"""Time how fast a pruned policy acts, in dense and in sparse kernels.

Training moves no zeros, so that the policy needs none.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy loads

import torch

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.rl.acting.inference import ActingSettings
from triptych.rl.acting.latency import latency_table, pruned_policy
from triptych.rl.algorithms.registry import Widths
from triptych.rl.tasks.transitions import read_transitions

with job(snakemake):
    params = snakemake.params
    torch.set_num_threads(1)
    stored = read_transitions(snakemake.input.transitions)
    policy = pruned_policy(
        snakemake.input.masks,
        params.runs,
        params.run,
        Widths.from_table(params.widths),
        stored.observations.shape[1],
        stored.actions.shape[1],
    )
    table = latency_table(
        policy,
        ActingSettings(params.candidates, params.phi),
        stored.observations,
        batches=params.batches,
        repeats=params.repeats,
    )
    for column in ("seed", "sparsity_percent", "method", "task"):
        table.insert(0, column, params.run[column])
    table.insert(1, "networks", params.networks)
    write_csv(table, snakemake.output.latency)

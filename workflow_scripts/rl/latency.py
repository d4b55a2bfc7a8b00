"""Time how fast a pruned policy acts and trains, in dense and in sparse kernels.

Training moves no zeros, so that the policy needs none.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy loads

import pandas as pd
import torch

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.core.memory import keep_freed_memory
from triptych.rl.acting.inference import ActingSettings
from triptych.rl.acting.latency import latency_table, pruned_policy, run_masks
from triptych.rl.algorithms.registry import Bcq, Widths
from triptych.rl.tasks.transitions import read_transitions
from triptych.rl.training.speed import update_times

with job(snakemake):
    params = snakemake.params
    torch.set_num_threads(1)
    stored = read_transitions(snakemake.input.transitions)
    sizes = stored.observations.shape[1], stored.actions.shape[1]
    widths, seed = Widths.from_table(params.widths), int(params.run["seed"])
    bcq = Bcq.from_table(params.bcq)
    masks = run_masks(snakemake.input.masks, params.runs, params.run, widths, *sizes)
    acting = latency_table(
        pruned_policy(masks, seed, widths, *sizes),
        ActingSettings(params.candidates, bcq.phi),
        stored.observations,
        batches=params.batches,
        repeats=params.repeats,
    )
    keep_freed_memory()  # as trainings do
    kept = {name: torch.from_numpy(mask)[None] for name, mask in masks.items()}
    training = update_times(kept, seed, widths, bcq, stored, params.repeats)
    table = pd.concat([acting, training], ignore_index=True)
    for column in ("seed", "sparsity_percent", "method", "task"):
        table.insert(0, column, params.run[column])
    table.insert(1, "networks", params.networks)
    write_csv(table, snakemake.output.latency)

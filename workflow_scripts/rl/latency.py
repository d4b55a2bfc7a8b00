"""Time how fast a pruned policy acts and trains, in dense and in sparse kernels.

Time depends only on which weights are kept, so the policy is not trained.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy loads

import pandas as pd
import torch

from triptych.core.files import write_csv
from triptych.core.job import job, settings_from
from triptych.core.memory import keep_freed_memory
from triptych.rl.acting.inference import ActingSettings
from triptych.rl.acting.latency import latency_table, pruned_policy, update_times
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.pruning.stack import read_masks
from triptych.rl.tasks.transitions import read_transitions

with job(snakemake):
    params, latency = snakemake.params, snakemake.params.latency
    torch.set_num_threads(1)
    stored = read_transitions(snakemake.input.transitions)
    sizes = stored.observations.shape[1], stored.actions.shape[1]
    widths, bcq = settings_from(Widths, params.widths), settings_from(Bcq, params.bcq)
    stacked = read_masks(snakemake.input.masks, Bcq.layer_shapes(widths, *sizes))
    masks = {name: mask[params.place] for name, mask in stacked.items()}
    initial = Bcq.initialise(widths, *sizes, [int(params.run["seed"])])
    acting = latency_table(
        pruned_policy({name: value[0].numpy() for name, value in initial.items()}, masks),
        ActingSettings(latency["candidates"], bcq.phi),
        stored.observations,
        batches=latency["batches"],
        repeats=latency["repeats"],
    )
    keep_freed_memory()  # as trainings do
    stacked_masks = {name: torch.from_numpy(mask)[None] for name, mask in masks.items()}
    training = update_times(
        initial, stacked_masks, int(params.run["seed"]), bcq, stored, latency["repeats"]
    )
    table = pd.concat([acting, training], ignore_index=True)
    for column in ("seed", "sparsity_percent", "method", "task"):
        table.insert(0, column, params.run[column])
    table.insert(1, "networks", params.networks)
    write_csv(table, snakemake.output.latency)

"""Prune networks at initialisation; count what each layer keeps and what storage takes."""

import pandas as pd

from triptych.core.job import job, settings_from
from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.networks.algorithm import Widths
from triptych.rl.pruning.stack import prune_stack
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import read_transitions

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    pruned = prune_stack(
        pd.DataFrame(params.runs),
        params.networks,
        settings_from(Widths, params.widths),
        settings_from(Bcq, params.bcq),
        params.pruning,
        task=task_from(**params.task),
        transitions=read_transitions(snakemake.input.transitions),
    )
    pruned.write(output.masks, output.layers, output.inputs, output.sizes)

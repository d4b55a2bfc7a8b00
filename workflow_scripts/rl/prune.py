"""Prune runs at initialisation; count what each layer keeps and what storage takes."""

import pandas as pd

from triptych.core.job import job
from triptych.rl.algorithms.registry import Bcq, Widths
from triptych.rl.pruning.stack import prune_stack
from triptych.rl.tasks.task import task_from

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    for runs, task, pruning, *files in zip(
        params.runs,
        params.tasks,
        params.pruning,
        output.masks,
        output.layers,
        output.inputs,
        output.sizes,
        strict=True,
    ):
        pruned = prune_stack(
            pd.DataFrame(runs),
            params.networks,
            Widths.from_table(params.widths),
            Bcq.from_table(params.bcq),
            pruning,
            task_from(**task),
        )
        pruned.write(*files)

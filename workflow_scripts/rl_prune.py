"""Prune runs at initialisation; count what each layer keeps and what storage takes."""

import pandas as pd

from triptych.core.job import job
from triptych.rl.algorithms.registry import Bcq, Widths
from triptych.rl.pruning import PruningSettings
from triptych.rl.stack_pruning import prune_stack

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    for runs, transitions, *files in zip(
        params.runs,
        snakemake.input.transitions,
        output.masks,
        output.layers,
        output.inputs,
        output.sizes,
        strict=True,
    ):
        pruned = prune_stack(
            pd.DataFrame(runs),
            params.networks,
            transitions,
            Widths.from_table(params.widths),
            Bcq.from_table(params.bcq),
            PruningSettings(**params.pruning),
        )
        pruned.write(*files)

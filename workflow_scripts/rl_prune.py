"""Prune a stack of runs at initialisation; count what each layer keeps and what storage takes."""

import pandas as pd

from triptych.core.job import job
from triptych.rl.bcq import BcqSettings
from triptych.rl.networks import Widths
from triptych.rl.pruning import PruningSettings
from triptych.rl.stack_pruning import prune_stack

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    pruned = prune_stack(
        pd.DataFrame(params.runs),
        snakemake.wildcards.networks,
        snakemake.input.transitions,
        Widths.from_table(params.widths),
        BcqSettings.from_table(params.bcq),
        PruningSettings(**params.pruning),
    )
    pruned.write(output.masks, output.layers, output.sizes)

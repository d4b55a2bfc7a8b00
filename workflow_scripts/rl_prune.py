"""Prune a stack of runs at initialisation; count what each layer keeps and what storage takes."""

import pandas as pd

from triptych.core.device import choose_device
from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.rl.bcq import BcqSettings
from triptych.rl.networks import Widths
from triptych.rl.pruning import PruningSettings, write_masks
from triptych.rl.stack_pruning import prune_stack

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    pruned = prune_stack(
        pd.DataFrame(params.runs),
        snakemake.input.transitions,
        Widths.from_table(params.widths),
        BcqSettings.from_table(params.bcq),
        PruningSettings(**params.pruning),
        choose_device(params.device),
    )
    write_masks(output.masks, pruned.masks)
    networks = snakemake.wildcards.networks
    for table, path in ((pruned.layers, output.layers), (pruned.sizes, output.sizes)):
        table.insert(1, "networks", networks)
        write_csv(table, path)

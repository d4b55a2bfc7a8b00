"""Figure 3 (weights kept by layer), Figure 4 and Table 1 (what storing them takes)."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.rl.report.masks import layers_figure, layers_long
from triptych.rl.report.memory import memory_figure, sizes_long, table1_long, table1_table
from triptych.rl.report.scores import seen_as

with job(snakemake):
    given, output = snakemake.input, snakemake.output
    task, scale = snakemake.params.task, snakemake.params.scale
    kind, published = snakemake.params.observations, pd.read_csv(given.published)
    sizes, layers = (seen_as(read_frames(paths), kind) for paths in (given.sizes, given.layers))
    layers = layers_long(layers, sparsity_percent=snakemake.params.sparsity, scale=scale)
    write_figure(layers_figure(layers), layers, output.figure3)
    write_figure(layers_figure(layers, by="count"), layers, output.counts)
    memory = sizes_long(sizes, published, scale=scale)
    write_figure(memory_figure(memory, task=task), memory, output.figure4)
    stored = table1_long(sizes, published, task=task, scale=scale)
    write_table(stored, table1_table(stored), output.table1)

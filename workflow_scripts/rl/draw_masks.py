"""Figure 3 (weights kept by layer)."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.masks import layers_figure, layers_long
from triptych.rl.report.scores import with_observations

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    layers = with_observations(read_frames(snakemake.input.layers), params.observations)
    layers = layers_long(layers, sparsity_percent=params.sparsity, scale=params.scale)
    write_figure(layers_figure(layers), layers, output.figure3)
    write_figure(layers_figure(layers, by="count"), layers, output.counts)

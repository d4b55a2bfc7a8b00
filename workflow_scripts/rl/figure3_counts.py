"""Figure 3 as counts.

The numbers of weights kept by layer, which the paper's figure shows, at {{ rl.shown_sparsity }}%
sparsity; short strokes mark an even share. Mean over seeds and one standard deviation.
"""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.masks import layers_figure, layers_long
from triptych.rl.report.scores import with_observations

if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        layers = with_observations(read_frames(snakemake.input.layers), params.observations)
        long = layers_long(layers, sparsity_percent=params.sparsity, scale=params.scale)
        write_figure(layers_figure(long, by="count"), long, snakemake.output)

"""Figure 3. Weights kept by layer.

Share of each layer's weights that SNIP and GraSP keep at {{ rl.shown_sparsity }}% sparsity, at the
paper's widths: mean over seeds, bars one standard deviation, logarithmic axis. Short strokes mark
an even share. A cross on the left edge marks a layer of which (nearly) nothing is kept. The small
numbers are the layer's dense weights. The critic is twin: l1 to l3 and l4 to l6.
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
        write_figure(layers_figure(long), long, snakemake.output)

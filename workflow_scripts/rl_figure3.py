"""Figure 3: weights kept by layer at 95% sparsity, with the numbers that it draws."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_masks import layers_figure
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_masks import layers_long

with job(snakemake):
    layers = read_frames(snakemake.input.layers)
    svg, _, _, numbers = snakemake.output
    long = layers_long(layers, sparsity_percent=95, scale=snakemake.params.scale)
    save_figure(layers_figure(long), Path(svg).with_suffix(""))
    write_csv(long, numbers)

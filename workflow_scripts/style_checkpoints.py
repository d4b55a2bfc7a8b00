"""One photograph through all checkpoints of each network, shipped ones apart from trained ones."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_network import checkpoints_figure, checkpoints_long
from triptych.report.scores import read_frames
from triptych.report.style import save_figure

with job(snakemake):
    given = snakemake.input
    long = checkpoints_long(read_frames(given.selection), scale=snakemake.params.scale)
    figure = checkpoints_figure(long, trained=given.trained, shipped=given.shipped)
    svg, _, _, numbers = snakemake.output
    save_figure(figure, Path(svg).with_suffix(""), photographs=True)
    write_csv(long, numbers)

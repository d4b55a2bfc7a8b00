"""Losses of the networks trained in this run, with pairs of a training image and its result."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_network import network_title, training_figure, training_long
from triptych.report.scores import read_frames
from triptych.report.style import save_figure

with job(snakemake):
    given = snakemake.input
    long = training_long(
        read_frames(given.losses), read_frames(given.selection), scale=snakemake.params.scale
    )
    samples = {network_title(path): Path(path) for path in given.samples}
    svg, _, _, numbers = snakemake.output
    save_figure(training_figure(long, samples), Path(svg).with_suffix(""), photographs=True)
    write_csv(long, numbers)

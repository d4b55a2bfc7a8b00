"""Networks trained in this run: their losses, and one photograph through all checkpoints."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_network import (
    checkpoints_figure,
    checkpoints_long,
    training_figure,
    training_long,
)
from triptych.style.report.labels import network_title

with job(snakemake):
    given, output, scale = snakemake.input, snakemake.output, snakemake.params.scale
    selection = read_frames(given.selection)
    losses = training_long(read_frames(given.losses), selection, scale=scale)
    samples = {network_title(path): Path(path) for path in given.samples}
    write_figure(training_figure(losses, samples), losses, output.training, photographs=True)
    chosen = checkpoints_long(selection, scale=scale)
    figure = checkpoints_figure(chosen, trained=given.sheets, shipped=given.shipped)
    write_figure(figure, chosen, output.checkpoints, photographs=True)

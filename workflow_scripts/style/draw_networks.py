"""Networks trained in this run: their losses, and samples of their checkpoints."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_losses import training_figure, training_long
from triptych.style.report.labels import network_title

with job(snakemake):
    inputs, scale = snakemake.input, snakemake.params.scale
    long = training_long(read_frames(inputs.losses), read_frames(inputs.selection), scale=scale)
    samples = {network_title(path): Path(path) for path in inputs.samples}
    write_figure(training_figure(long, samples), long, snakemake.output)

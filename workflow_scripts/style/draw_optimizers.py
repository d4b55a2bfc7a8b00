"""Figures 5 and 6: losses and results by optimizer."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import optimizer_images_figure
from triptych.style.report.figures_losses import optimizers_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    output = snakemake.output
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(optimizers_figure(shown), shown.history, output.figure5)
    write_figure(optimizer_images_figure(shown), shown.long, output.figure6)

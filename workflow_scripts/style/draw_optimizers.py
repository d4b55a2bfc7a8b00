"""Figures 5 and 6: losses and results by optimizer."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import optimizer_images_figure
from triptych.style.report.figures_losses import optimizers_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    output = snakemake.output
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(optimizers_figure(shown.history, shown.files), shown.history, output.figure5)
    figure = optimizer_images_figure(shown.results, shown.files)
    write_figure(figure, shown.results, output.figure6)

"""Figures 2 and 3: losses and results by backbone."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import backbone_images_figure
from triptych.style.report.figures_losses import backbones_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    output = snakemake.output
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(backbones_figure(shown), shown.history, output.figure2)
    write_figure(backbone_images_figure(shown), shown.long, output.figure3)

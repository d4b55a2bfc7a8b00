"""The result of Version 1 from each initialisation, with what it kept of the photograph."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import initialisations_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(initialisations_figure(shown), shown.long, snakemake.output)

"""Version 1 at several image sizes."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import sizes_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    figure = sizes_figure(shown.results, shown.files)
    write_figure(figure, shown.results, snakemake.output, photographs=True)

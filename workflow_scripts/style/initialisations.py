"""The result of Version 1 from each initialisation, with what it kept of the photograph."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import initialisations_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    inputs = snakemake.input
    shown = Experiment.read(inputs, snakemake.params.scale, read_frames(inputs.quality))
    figure = initialisations_figure(shown.results, shown.files)
    write_figure(figure, shown.results, snakemake.output)

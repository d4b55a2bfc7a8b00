"""Figure 7: one photograph in several styles by Version 1."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import paintings_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(paintings_figure(shown), shown.long, snakemake.output)

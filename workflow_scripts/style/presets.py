"""The paper's text, its authors' code and tuned settings: images of each."""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import presets_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    write_figure(presets_figure(shown), shown.long, snakemake.output)

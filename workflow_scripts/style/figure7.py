"""Figure 7: one photograph in several styles by Version 1."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import paintings_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long

with job(snakemake):
    inputs = snakemake.input
    results = results_long(read_frames(inputs.runs), scale=snakemake.params.scale)
    files = Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings)
    write_figure(paintings_figure(results, files), results, snakemake.output, photographs=True)

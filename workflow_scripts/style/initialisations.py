"""The result of Version 1 from each initialisation, with what it kept of the photograph."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import initialisations_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long

with job(snakemake):
    inputs = snakemake.input
    runs, quality = read_frames(inputs.runs), read_frames(inputs.quality)
    results = results_long(runs, quality, scale=snakemake.params.scale)
    files = Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings)
    figure = initialisations_figure(results, files)
    write_figure(figure, results, snakemake.output, photographs=True)

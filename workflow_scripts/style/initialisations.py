"""The result of Version 1 from each initialisation, with what it kept of the photograph."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import initialisations_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long

with job(snakemake):
    given = snakemake.input
    runs, quality = read_frames(given.runs), read_frames(given.quality)
    results = results_long(runs, quality, scale=snakemake.params.scale)
    files = Files(result=given.images, content=given.contents, painting=given.paintings)
    figure = initialisations_figure(results, files)
    write_figure(figure, results, snakemake.output, photographs=True)

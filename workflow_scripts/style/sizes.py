"""Version 1 at several image sizes."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import sizes_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long

with job(snakemake):
    inputs = snakemake.input
    results = results_long(read_frames(inputs.runs), scale=snakemake.params.scale)
    files = Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings)
    write_figure(sizes_figure(results, files), results, snakemake.output, photographs=True)

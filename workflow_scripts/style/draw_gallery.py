"""Figure 7, one photograph in several styles by Version 1; and one at several sizes."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import paintings_figure, sizes_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import results_long

with job(snakemake):
    given, output = snakemake.input, snakemake.output
    runs = read_frames(given.runs)
    drawn = (
        ("paintings", paintings_figure, output.figure7),
        ("sizes", sizes_figure, output.sizes),
    )
    for folder, (experiment, of_images, paths) in zip(given.images, drawn, strict=True):
        long = results_long(runs, experiment=experiment, scale=snakemake.params.scale)
        files = Files(result=[folder], content=given.contents, painting=given.paintings)
        write_figure(of_images(long, files), long, paths, photographs=True)

"""Version 2 in every style: each painting above a photograph in its style."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import styles_figure
from triptych.style.report.panels import Files, Shown
from triptych.style.report.runs import styles_long

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    styles = styles_long(read_frames(inputs.stylised_runs), params.contents, scale=params.scale)
    files = Files(result=inputs.stylised, painting=inputs.paintings)
    write_figure(styles_figure(Shown(styles, files)), styles, snakemake.output)

"""Learning curves: score against updates, with the numbers that they draw."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.figures_curves import curves_figure, curves_long
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables import write_long

with job(snakemake):
    svg, _, _, numbers = snakemake.output
    long = curves_long(read_frames(snakemake.input.scores), scale=snakemake.params.scale)
    save_figure(curves_figure(long), Path(svg).with_suffix(""))
    write_long(long, numbers)

"""Learning curves: score against updates, with the numbers that they draw."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_curves import curves_figure, curves_long
from triptych.report.scores import read_frames
from triptych.report.style import save_figure

with job(snakemake):
    svg, _, _, numbers = snakemake.output
    long = curves_long(read_frames(snakemake.input.scores), scale=snakemake.params.scale)
    save_figure(curves_figure(long), Path(svg).with_suffix(""))
    write_csv(long, numbers)

"""Scores where data are few: a figure beyond the paper."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.scores import with_data
from triptych.rl.report.small_data import small_figure, small_long, small_scores

with job(snakemake):
    params = snakemake.params
    runs = small_scores(read_frames(snakemake.input.scores))
    long = with_data(small_long(runs, scale=params.scale, units=params.units), params.data)
    figure = small_figure(long, read_frames(snakemake.input.datasets))
    write_figure(figure, long, snakemake.output)

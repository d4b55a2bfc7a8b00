"""Scores where data are few: a figure beyond the paper."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import small_figure
from triptych.rl.report.scores import run_scores, score_cells, small_long

with job(snakemake):
    evaluations, datasets = (read_frames(snakemake.input[name]) for name in ("scores", "datasets"))
    long = small_long(run_scores(evaluations))
    long = score_cells(long, evaluations, datasets, scale=snakemake.params.scale)
    write_figure(small_figure(long, datasets), long, snakemake.output)

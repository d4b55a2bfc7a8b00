"""Scores of the dense and the pruned runs at 95% sparsity, by task and over all tasks."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.scores import read_frames, run_scores
from triptych.report.tables import write_table
from triptych.report.tables_rl import scores_long, scores_table

with job(snakemake):
    runs = run_scores(read_frames(snakemake.input.scores), snakemake.params.last_evaluations)
    long = scores_long(runs, sparsity_percent=95, scale=snakemake.params.scale)
    write_table(long, scores_table(long), Path(snakemake.output[0]).with_suffix(""))

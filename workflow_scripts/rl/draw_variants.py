"""Other batches, iterations and data to prune with, beside the default pruning: a table."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.rl.report.scores import run_scores, score_cells
from triptych.rl.report.tables import variants_long, variants_table

with job(snakemake):
    params = snakemake.params
    datasets = read_frames(snakemake.input.datasets)
    evaluations = read_frames(snakemake.input.scores)
    evaluations = evaluations[evaluations["observations"] == params.observations]
    long = variants_long(run_scores(evaluations))
    long = score_cells(long, evaluations, datasets, scale=params.scale)
    write_table(long, variants_table(long, params.variants), snakemake.output)

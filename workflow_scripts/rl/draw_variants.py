"""Other batches, iterations and data to prune with, beside the default pruning: a table."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.tables import write_table
from triptych.rl.report.scores import run_scores, with_data
from triptych.rl.report.tables import variants_long, variants_table

with job(snakemake):
    params = snakemake.params
    evaluations = read_frames(snakemake.input.scores)
    runs = run_scores(evaluations[evaluations["observations"] == params.observations])
    long = with_data(variants_long(runs, scale=params.scale, units=params.units), params.data)
    write_table(long, variants_table(long, params.variants), snakemake.output)

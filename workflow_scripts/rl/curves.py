"""Learning curves.

Score at every evaluation, BCQ (top) and BC (bottom): the dense runs, and those of
the sparsity that the tables show. Line: mean over seeds; band: lowest to highest seed; thin:
controls. The score that the other figures show is the mean of each run's last evaluations.
"""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import curves_figure, curves_long
from triptych.rl.report.scores import read_scores, score_cells, shown_level

if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        curves = curves_long(scores, shown_level(scores, params.sparsity))
        long = score_cells(curves, scores, datasets, scale=params.scale)
        write_figure(curves_figure(long), long, snakemake.output)

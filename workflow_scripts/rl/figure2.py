"""Figure 2. Score against sparsity, GraSP.

Score of BCQ (top) and BC (bottom) against the share of weights pruned with GraSP before training:
lines, bands and bars as in Figure 1.
"""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import sparsity_figure
from triptych.rl.report.labels import of_methods
from triptych.rl.report.scores import read_scores, run_scores, score_cells, summarise_scores

if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        summary = summarise_scores(run_scores(of_methods(scores, ["grasp"])))
        long = score_cells(summary, scores, datasets, scale=params.scale)
        write_figure(sparsity_figure(long, datasets, ["grasp"]), long, snakemake.output)

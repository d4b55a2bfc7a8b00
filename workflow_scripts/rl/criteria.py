"""Beyond the paper: score against sparsity, criteria and controls.

Score against sparsity for all pruning criteria beside controls, which keep as many weights without
looking at a loss (open marks, drawn a little to the right). Each criterion has its own colour;
bands run from the lowest to the highest seed, bars are 95% intervals of the mean of three seeds or
more. Dashed: the dense runs; dotted: the policy behind the data.
"""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import sparsity_figure
from triptych.rl.report.scores import read_scores, run_scores, score_cells, summarise_scores

if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        summary = summarise_scores(run_scores(scores))
        long = score_cells(summary, scores, datasets, scale=params.scale)
        write_figure(sparsity_figure(long, datasets, params.criteria), long, snakemake.output)

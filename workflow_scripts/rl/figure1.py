"""Figure 1. Score against sparsity, SNIP.

Score of BCQ (top) and BC (bottom) against the share of weights pruned with SNIP before training. A
run's score is the mean of its last evaluations, never the best. Line: mean over seeds; band: lowest
to highest seed (the paper's "100% confidence interval"); bars: 95% interval of the mean of three
seeds or more, cut where it leaves the panel. Dashed: the dense runs; dotted: the policy behind the
data. Sparsity levels are equally spaced. At the papers' scale observations are raw, as in the code
that the paper builds on; elsewhere normalised: short trainings prune badly on raw ones
(docs/scales.md, "Beyond the papers").
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
        summary = summarise_scores(run_scores(of_methods(scores, ["snip"])))
        long = score_cells(summary, scores, datasets, scale=params.scale)
        write_figure(sparsity_figure(long, datasets, ["snip"]), long, snakemake.output)

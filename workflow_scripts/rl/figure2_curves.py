"""Figure 2 as learning curves, a line a sparsity, GraSP.

Score against updates, a line a sparsity (GraSP; dense beside it): mean over seeds, bands from the
lowest to the highest. The paper's figure can be read as this one, or as the one above.
"""

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import curves_figure, curves_long
from triptych.rl.report.labels import of_methods
from triptych.rl.report.scores import read_scores, score_cells

if __name__ == "__main__":
    with job(snakemake):
        params = snakemake.params
        scores, datasets = read_scores(snakemake.input, params.observations)
        curves = curves_long(of_methods(scores, ["grasp"]))
        long = score_cells(curves, scores, datasets, scale=params.scale)
        write_figure(curves_figure(long, by="sparsity_percent"), long, snakemake.output)

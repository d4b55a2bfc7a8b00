"""Score against sparsity by one method, and its learning curves: Figure 1, or 2."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import curves_figure, curves_long, sparsity_figure
from triptych.rl.report.scores import (
    of_methods,
    run_scores,
    score_cells,
    summarise_scores,
    with_data,
    with_observations,
)

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    evaluations = with_observations(read_frames(snakemake.input.scores), params.observations)
    evaluations = of_methods(evaluations, [params.method])
    summary = summarise_scores(run_scores(evaluations))
    long = score_cells(summary, scale=params.scale, units=params.units)
    long = with_data(long, params.data)
    figure = sparsity_figure(long, read_frames(snakemake.input.datasets), [params.method])
    write_figure(figure, long, output.sparsity)
    curves = with_data(curves_long(evaluations, params.scale, params.units), params.data)
    write_figure(curves_figure(curves, by="sparsity_percent"), curves, output.curves)

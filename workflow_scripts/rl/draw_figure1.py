"""Score against sparsity by one method, and its learning curves: Figure 1, or 2."""

from functools import partial

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.rl.report.figures import curves_figure, curves_long, sparsity_figure
from triptych.rl.report.labels import of_methods
from triptych.rl.report.scores import (
    run_scores,
    score_cells,
    summarise_scores,
    with_observations,
)

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    datasets, scores = (read_frames(snakemake.input[name]) for name in ("datasets", "scores"))
    scores = of_methods(with_observations(scores, params.observations), [params.method])
    cells = partial(score_cells, evaluations=scores, datasets=datasets, scale=params.scale)
    long = cells(summarise_scores(run_scores(scores)))
    write_figure(sparsity_figure(long, datasets, [params.method]), long, output.sparsity)
    curves = cells(curves_long(scores))
    write_figure(curves_figure(curves, by="sparsity_percent"), curves, output.curves)

"""All methods beside each other: score against sparsity, learning curves, tables of scores."""

from functools import partial

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.rl.report.figures import curves_figure, curves_long, sparsity_figure
from triptych.rl.report.scores import (
    run_scores,
    score_cells,
    shown_level,
    summarise_scores,
    with_observations,
)
from triptych.rl.report.tables import (
    POINTS,
    comparisons_long,
    comparisons_table,
    scores_long,
    scores_table,
)

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    datasets = read_frames(snakemake.input.datasets)
    evaluations = with_observations(read_frames(snakemake.input.scores), params.observations)
    level = shown_level(evaluations, params.sparsity)
    runs = run_scores(evaluations)
    cells = partial(score_cells, evaluations=evaluations, datasets=datasets, scale=params.scale)
    if params.criteria:
        criteria = cells(summarise_scores(runs))
        figure = sparsity_figure(criteria, datasets, params.criteria)
        write_figure(figure, criteria, output.criteria)
    curves = cells(curves_long(evaluations, level))
    write_figure(curves_figure(curves), curves, output.curves)
    scores = cells(scores_long(runs, level))
    write_table(scores, scores_table(scores), output.scores)
    compared = cells(comparisons_long(runs), unit=POINTS)
    write_table(compared, comparisons_table(compared), output.comparisons)

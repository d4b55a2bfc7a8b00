"""All methods beside each other: score against sparsity, learning curves, tables of scores."""

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
    with_data,
    with_observations,
)
from triptych.rl.report.tables import (
    comparisons_long,
    comparisons_table,
    scores_long,
    scores_table,
)

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    scale, units, data = params.scale, params.units, params.data
    evaluations = with_observations(read_frames(snakemake.input.scores), params.observations)
    runs = run_scores(evaluations)
    if params.criteria:
        summary = score_cells(summarise_scores(runs), scale=scale, units=units)
        criteria = with_data(summary, data)
        behaviour = read_frames(snakemake.input.datasets)
        figure = sparsity_figure(criteria, behaviour, params.criteria)
        write_figure(figure, criteria, output.criteria)
    level = shown_level(evaluations, params.sparsity)
    curves = with_data(curves_long(evaluations, scale, units, level), data)
    write_figure(curves_figure(curves), curves, output.curves)
    scores = with_data(scores_long(runs, sparsity_percent=level, scale=scale, units=units), data)
    write_table(scores, scores_table(scores), output.scores)
    compared = with_data(comparisons_long(runs, scale=scale, units=units), data)
    write_table(compared, comparisons_table(compared), output.comparisons)

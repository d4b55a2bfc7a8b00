"""What the trained runs scored and sensed: figures, curves, tables of scores and of inputs."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import with_cells, write_table
from triptych.rl.pruning.methods import CONTROLS
from triptych.rl.report.figures import curves_figure, curves_long, sparsity_figure
from triptych.rl.report.scores import (
    default_pruning,
    in_units,
    run_scores,
    seen_as,
    summarise_scores,
    with_data,
)
from triptych.rl.report.sensors import cut_table, inputs_long, sensors_figure, sensors_long
from triptych.rl.report.tables import (
    comparisons_long,
    comparisons_table,
    scores_long,
    scores_table,
    variants_long,
    variants_table,
)
from triptych.rl.tasks.task import NORMALISED

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    scale, units, data = params.scale, params.units, params.data
    every = read_frames(snakemake.input.scores)
    evaluations = seen_as(every, params.observations)
    behaviour = read_frames(snakemake.input.datasets)
    runs = run_scores(evaluations)
    summary = summarise_scores(runs)
    pruned = set(runs["sparsity_percent"]) - {0}
    level = params.sparsity if params.sparsity in pruned else max(pruned, default=0)
    for name, methods in params.figures.items():
        shown = summary[summary["method"].isin(["dense", *methods, *CONTROLS])]
        numbers = with_data(in_units(with_cells(shown, unit=NORMALISED, scale=scale), units), data)
        write_figure(sparsity_figure(numbers, behaviour, *methods), numbers, getattr(output, name))
    for name, method in params.levels.items():
        levels = with_data(curves_long(evaluations, scale, units, method), data)
        write_figure(curves_figure(levels, by="sparsity_percent"), levels, getattr(output, name))
    curves = with_data(curves_long(evaluations, scale, units), data)
    write_figure(curves_figure(curves), curves, output.curves)
    scores = with_data(scores_long(runs, sparsity_percent=level, scale=scale, units=units), data)
    compared = with_data(comparisons_long(runs, scale=scale, units=units), data)
    masks_inputs = default_pruning(read_frames(snakemake.input.inputs))
    inputs = with_data(inputs_long(masks_inputs, sparsity_percent=level, scale=scale), data)
    if sensing := params.sensing:
        seen = run_scores(default_pruning(every))
        sensors = with_data(sensors_long(seen, inputs, **sensing, scale=scale, units=units), data)
        write_figure(sensors_figure(sensors, behaviour), sensors, output.sensors)
    if variants := params.variants:
        of_all = run_scores(every[every["observations"] == params.observations])
        varied = with_data(variants_long(of_all, scale=scale, units=units), data)
        write_table(varied, variants_table(varied, variants), output.variants)
    for long, table, files in (
        (scores, scores_table(scores), output.scores),
        (compared, comparisons_table(compared), output.comparisons),
        (inputs, cut_table(inputs), output.inputs),
    ):
        write_table(long, table, files)

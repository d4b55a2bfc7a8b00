"""Weights kept by input, and scores on raw and on normalised observations."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.rl.report.scores import default_pruning, run_scores, shown_level, with_data
from triptych.rl.report.sensors import cut_table, inputs_long, sensors_figure, sensors_long

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    masked = default_pruning(read_frames(snakemake.input.inputs))
    level = shown_level(masked, params.sparsity)
    inputs = inputs_long(masked, sparsity_percent=level, scale=params.scale)
    inputs = with_data(inputs, params.data)
    write_table(inputs, cut_table(inputs), output.inputs)
    if params.sensing:
        runs = run_scores(default_pruning(read_frames(snakemake.input.scores)))
        sensors = with_data(
            sensors_long(runs, inputs, **params.sensing, scale=params.scale, units=params.units),
            params.data,
        )
        behaviour = read_frames(snakemake.input.datasets)
        write_figure(sensors_figure(sensors, behaviour), sensors, output.sensors)

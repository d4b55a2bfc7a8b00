"""Weights kept by input, and scores on raw and on normalised observations."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.rl.report.scores import (
    default_pruning,
    run_scores,
    score_cells,
    shown_level,
    with_sources,
)
from triptych.rl.report.sensors import cut_table, inputs_long, sensors_figure, sensors_long

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    datasets = read_frames(snakemake.input.datasets)
    masked = default_pruning(read_frames(snakemake.input.inputs))
    level = shown_level(masked, params.sparsity)
    inputs = inputs_long(masked, sparsity_percent=level, scale=params.scale)
    inputs = with_sources(inputs, datasets)
    write_table(inputs, cut_table(inputs), output.inputs)
    if params.sensing:
        evaluations = default_pruning(read_frames(snakemake.input.scores))
        runs = run_scores(evaluations).rename(columns={"score": "value"})
        scores = score_cells(runs, evaluations, datasets, scale=params.scale)
        sensors = sensors_long(scores, inputs, **params.sensing)
        write_figure(sensors_figure(sensors, datasets), sensors, output.sensors)

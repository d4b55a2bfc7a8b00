"""Figures 2, 3, 5 and 6: losses and results by backbone and by optimizer; seconds to a loss."""

from pathlib import Path

import pandas as pd

from triptych.core.files import read_frames, write_csv
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.report.tables import write_table
from triptych.style.report.figures_images import backbone_images_figure, optimizer_images_figure
from triptych.style.report.figures_losses import backbones_figure, optimizers_figure
from triptych.style.report.panels import files_by_stem
from triptych.style.report.runs import history_long, results_long, target_times
from triptych.style.report.tables_beyond import targets_long, targets_table

with job(snakemake):
    given, output = snakemake.input, snakemake.output
    scale = snakemake.params.scale
    runs, history = read_frames(given.runs), read_frames(given.history)
    contents, paintings = files_by_stem(given.contents), files_by_stem(given.paintings)
    drawn = (
        ("backbones", backbones_figure, output.figure2, backbone_images_figure, output.figure3),
        ("optimizers", optimizers_figure, output.figure5, optimizer_images_figure, output.figure6),
    )
    for folder, (experiment, of_losses, losses_files, of_images, images_files) in zip(
        given.images, drawn, strict=True
    ):
        losses = history_long(history, runs, experiment=experiment, scale=scale)
        write_figure(of_losses(losses), losses, losses_files)
        results = results_long(runs, experiment=experiment, scale=scale)
        images = files_by_stem(folder)
        figure = of_images(results, images=images, contents=contents, paintings=paintings)
        write_figure(figure, results, images_files, photographs=True)

    targets = target_times(
        map(pd.read_csv, given.history), map(pd.read_csv, given.runs), snakemake.params.parts
    )
    write_csv(targets, output.times)
    long = targets_long(targets, scale=scale)
    write_table(long, targets_table(long), Path(output.targets[0]).with_suffix(""))

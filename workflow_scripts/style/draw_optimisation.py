"""Figures 2, 3, 5 and 6: losses and results by backbone and by optimizer."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import backbone_images_figure, optimizer_images_figure
from triptych.style.report.figures_losses import backbones_figure, optimizers_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import history_long, results_long

with job(snakemake):
    given, output, scale = snakemake.input, snakemake.output, snakemake.params.scale
    runs, history = read_frames(given.runs), read_frames(given.history)
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
        files = Files(result=[folder], content=given.contents, painting=given.paintings)
        write_figure(of_images(results, files), results, images_files, photographs=True)

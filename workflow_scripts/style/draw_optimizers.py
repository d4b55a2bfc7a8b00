"""Figures 5 and 6: losses and results by optimizer."""

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import optimizer_images_figure
from triptych.style.report.figures_losses import optimizers_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import history_long, results_long

with job(snakemake):
    inputs, output, scale = snakemake.input, snakemake.output, snakemake.params.scale
    runs = read_frames(inputs.runs)
    losses = history_long(read_frames(inputs.history), runs, scale=scale)
    write_figure(optimizers_figure(losses), losses, output.figure5)
    results = results_long(runs, scale=scale)
    files = Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings)
    figure = optimizer_images_figure(results, files)
    write_figure(figure, results, output.figure6, photographs=True)

"""The paper's text, its authors' code and tuned settings: images above losses."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import presets_figure
from triptych.style.report.panels import Files
from triptych.style.report.runs import history_long, results_long

with job(snakemake):
    inputs, scale = snakemake.input, snakemake.params.scale
    runs = read_frames(inputs.runs)
    results = results_long(runs, scale=scale)
    history = history_long(read_frames(inputs.history), runs, scale=scale)
    files = Files(result=inputs.images, content=inputs.contents, painting=inputs.paintings)
    figure = presets_figure(results, history, files)
    numbers = pd.concat([results, history], ignore_index=True)
    write_figure(figure, numbers, snakemake.output, photographs=True)

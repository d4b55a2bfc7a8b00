"""The paper's text, its authors' code and tuned settings: images above losses."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import presets_figure
from triptych.style.report.panels import files_by_stem
from triptych.style.report.runs import history_long, results_long

with job(snakemake):
    given, scale = snakemake.input, snakemake.params.scale
    runs = read_frames(given.runs)
    long = results_long(runs, experiment="presets", scale=scale)
    history = history_long(read_frames(given.history), runs, experiment="presets", scale=scale)
    figure = presets_figure(
        long,
        history,
        images=files_by_stem(given.images),
        contents=files_by_stem(given.contents),
        paintings=files_by_stem(given.paintings),
    )
    write_figure(
        figure, pd.concat([long, history], ignore_index=True), snakemake.output, photographs=True
    )

"""The paper's text, its authors' code and tuned settings: images above losses."""

import pandas as pd

from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import presets_figure
from triptych.style.report.panels import Experiment

with job(snakemake):
    shown = Experiment.read(snakemake.input, snakemake.params.scale)
    numbers = pd.concat([shown.long, shown.history], ignore_index=True)
    write_figure(presets_figure(shown), numbers, snakemake.output)

"""Figure 4: run time by content loss, paired and repeated, with the numbers that it draws."""

import pandas as pd

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_losses import loss_times_figure, loss_times_long
from triptych.style.report.runs import history_long

with job(snakemake):
    inputs, scale = snakemake.input, snakemake.params.scale
    times = loss_times_long(read_frames(inputs.timing), scale=scale)
    runs, history = read_frames(inputs.runs), read_frames(inputs.history)
    trends = history_long(history, runs, scale=scale)
    write_figure(
        loss_times_figure(times, trends),
        pd.concat([times, trends], ignore_index=True),
        snakemake.output,
    )

"""Figure 2: validation loss while the main pair is fine-tuned."""

from triptych.audio.report.figures import finetuning_figure, finetuning_long
from triptych.audio.report.rows import AudioStudy, read_rows
from triptych.core.job import job
from triptych.report.palette import write_figure

with job(snakemake):
    params = snakemake.params
    history = read_rows([f"{run['folder']}/history.csv" for run in params.runs])
    long = finetuning_long(history, AudioStudy.read(**params.study), scale=params.scale)
    write_figure(finetuning_figure(long), long, snakemake.output)

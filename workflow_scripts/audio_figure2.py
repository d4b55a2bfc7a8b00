"""Figure 2: validation loss during fine-tuning, human and new captions."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.audio_study import AudioStudy, read_rows
from triptych.report.figures_audio import finetuning_figure, finetuning_long
from triptych.report.style import save_figure

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    long = finetuning_long(
        read_rows(given.history),
        read_rows(given.metrics),
        AudioStudy.read(**params.study),
        scale=params.scale,
    )
    svg, _, _, numbers = snakemake.output
    save_figure(finetuning_figure(long), Path(svg).with_suffix(""))
    write_csv(long, numbers)

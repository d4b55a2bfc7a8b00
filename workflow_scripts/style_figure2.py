"""Figure 2: loss history by backbone, with the numbers that it draws."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_curves import backbones_figure
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_style_history import history_long

with job(snakemake):
    long = history_long(
        read_frames(snakemake.input.history),
        read_frames(snakemake.input.runs),
        experiment="backbones",
        scale=snakemake.params.scale,
    )
    svg, _, _, numbers = snakemake.output
    save_figure(backbones_figure(long), Path(svg).with_suffix(""))
    write_csv(long, numbers)

"""Figure 5: loss history by optimizer, at the authors' and at tuned learning rates."""

from pathlib import Path

from triptych.core.files import write_csv
from triptych.core.job import job
from triptych.report.figures_style_curves import optimizers_figure
from triptych.report.scores import read_frames
from triptych.report.style import save_figure
from triptych.report.tables_style_history import history_long

with job(snakemake):
    long = history_long(
        read_frames(snakemake.input.history),
        read_frames(snakemake.input.runs),
        experiment="optimizers",
        scale=snakemake.params.scale,
    )
    svg, _, _, numbers = snakemake.output
    save_figure(optimizers_figure(long), Path(svg).with_suffix(""))
    write_csv(long, numbers)

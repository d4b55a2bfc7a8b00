"""Beyond the paper: every system on several right clips, held-out combinations and order."""

from pathlib import Path

from triptych.core.job import job
from triptych.report.audio_study import AudioStudy, read_rows
from triptych.report.figures_audio import beyond_figure
from triptych.report.style import save_figure
from triptych.report.tables import write_table
from triptych.report.tables_audio_beyond import beyond_long, beyond_table

with job(snakemake):
    params = snakemake.params
    long = beyond_long(
        read_rows(snakemake.input.metrics), AudioStudy.read(**params.study), scale=params.scale
    )
    svg, _, _, numbers, _, _ = snakemake.output
    save_figure(beyond_figure(long), Path(svg).with_suffix(""))
    write_table(long, beyond_table(long), Path(numbers).with_suffix(""))

"""Figure 1: both versions of one photograph and painting side by side."""

from pathlib import Path

from triptych.core.files import read_frames
from triptych.core.job import job
from triptych.report.palette import write_figure
from triptych.style.report.figures_images import versions_figure
from triptych.style.report.panels import Files, Shown
from triptych.style.report.runs import versions_long

with job(snakemake):
    inputs = snakemake.input
    versions = versions_long(
        read_frames(inputs.runs),
        read_frames(inputs.stylised_runs),
        read_frames(inputs.quality),
        content=Path(inputs.content).stem,
        painting=Path(inputs.painting).stem,
        scale=snakemake.params.scale,
    )
    files = Files(
        result=[inputs.images, inputs.stylised],
        content=[inputs.content],
        painting=[inputs.painting],
    )
    write_figure(versions_figure(Shown(versions, files)), versions, snakemake.output)
